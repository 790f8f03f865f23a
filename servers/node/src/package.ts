import { readFileSync } from 'node:fs';

/** Name and version of this package. */
export const packageInfo = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly name: string;
  readonly version: string;
};
