// Runs the scenarios of the official conformance suite that need no fixture tools against servers that are running.
//
//   node run.mjs NAME=URL…      URL is that of the MCP endpoint
//
// Prints a line for each server and scenario. Exits with 1 if a check failed or a scenario had no check: the suite itself calls a
// scenario without checks a success.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const scenarios = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];
const suite = fileURLToPath(new URL('node_modules/.bin/conformance', import.meta.url));

/** The results of all checks that one run of the suite wrote, and what it printed. */
function runScenario(url, scenario) {
  const out = mkdtempSync(join(tmpdir(), 'conformance-'));
  try {
    const args = [suite, 'server', '--url', url, '--scenario', scenario, '-o', out];
    let text = '';
    try {
      text = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
    } catch (error) {
      text = `${error.stdout ?? ''}${error.stderr ?? ''}${error.message}`;
    }
    const checks = readdirSync(out, { recursive: true })
      .filter((name) => name.endsWith('checks.json'))
      .flatMap((name) => JSON.parse(readFileSync(join(out, name), 'utf8')));
    return { checks, text };
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

const servers = process.argv.slice(2).map((word) => word.match(/^([^=]+)=(http.*)$/)?.slice(1));
if (servers.length === 0 || servers.includes(undefined)) {
  console.error('usage: node run.mjs NAME=URL…, such as go=http://127.0.0.1:8081/mcp');
  process.exit(2);
}
let passed = 0;
let failed = 0;
for (const [name, url] of servers) {
  for (const scenario of scenarios) {
    const { checks, text } = runScenario(url, scenario);
    const good = checks.filter((check) => check.status === 'SUCCESS').length;
    const bad = checks.filter((check) => check.status === 'FAILURE');
    const ok = good > 0 && bad.length === 0;
    console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} ${scenario}: ${good} checks passed, ${bad.length} failed`);
    for (const check of bad) console.log(`     ${check.id}: ${check.errorMessage ?? check.description}`);
    if (!ok && bad.length === 0) console.log(text.trimEnd().replaceAll(/^/gm, '     '));
    if (ok) passed++;
    else failed++;
  }
}
console.log(`conformance: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
