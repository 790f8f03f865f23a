// Copies what a build needs into an empty folder, laid out as in the repository, so that the build leaves nothing here
// and the paths between its files stay the same: node scripts/stage.mjs FOLDER
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = process.argv[2];
if (!folder) {
  process.stderr.write('usage: node scripts/stage.mjs FOLDER\n');
  process.exit(2);
}
const root = fileURLToPath(new URL('../../../', import.meta.url));
const server = 'servers/node';
const files = ['.npmrc', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'src'];
for (const path of ['contract/tools', ...files.map((file) => join(server, file))]) {
  cpSync(join(root, path), join(folder, path), { recursive: true });
}
