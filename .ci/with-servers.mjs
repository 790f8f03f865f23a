// Starts all servers with `parity up`, runs a command with NAME=URL of each MCP endpoint as its arguments, and stops the servers.
//
//   node with-servers.mjs PARITY BACKEND PORT-BASE COMMAND…
//
// Exits with the command's code, or 2 when the servers do not start.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const [parity, backend, base, command, ...args] = process.argv.slice(2);
const up = spawn(parity, ['up', '--json', '--backend', backend, '--port-base', base], { stdio: ['ignore', 'pipe', 'inherit'] });
const ended = once(up, 'exit');
let code = 2;
for await (const line of createInterface({ input: up.stdout })) {
  const { servers } = JSON.parse(line);
  code = spawnSync(command, [...args, ...servers.map(({ id, mcp }) => `${id}=${mcp}`)], { stdio: 'inherit' }).status ?? 2;
  up.kill('SIGTERM');
}
await ended;
process.exit(code);
