// What each iteration of closed.js and open.js does, given in the environment:
//
//   MCP_URL   the MCP endpoint
//   REVISION  of the protocol, which is offered to the server
//   SESSIONS  per_user: each user keeps one session; per_call: each call has a session of its own, from initialize to DELETE
//   CALLS     [{"tool": "<name>", "arguments": {...}} or {"method": "tools/list"}, ...], made in this order in each iteration;
//             none with per_call: a session is opened and closed
//   EXPECTED  for each call, the structuredContent that its answer must equal; for tools/list, the sorted names
//   SAMPLE    each user compares the answers of every SAMPLE-th iteration: user 1 begins with its first, user 2 with its SAMPLE-th, user 3
//             with the one before that, and so on, so that users who begin at once do not all compare at once
//
// Counts and histograms are written by k6/x/mcp to the directory K6_MCP_HISTOGRAMS, and beside them iterations.json by handleSummary.
import { sleep } from 'k6';
import exec from 'k6/execution';
import { Client, encode } from 'k6/x/mcp';

// How long a user waits after it got no session, so that it does not count nothing but that.
const pauseAfterFailure = 1;

const sample = wholeNumber('SAMPLE');
const perCall = oneOf('SESSIONS', ['per_user', 'per_call']) === 'per_call';
const calls = list('CALLS').map(operation);
const expected = list('EXPECTED');
if (expected.length !== calls.length) {
  throw new Error(`EXPECTED has ${expected.length} members, CALLS has ${calls.length}: want one for each call`);
}
if (calls.length === 0 && !perCall) {
  throw new Error('CALLS is empty: with SESSIONS=per_user an iteration needs a call');
}

// k6's own metrics are not looked at but for the number of iterations; the histograms do not depend on them.
const client = new Client(required('MCP_URL'), { protocolVersion: required('REVISION'), metrics: 'off' });

// The state of one user.
let session;
let connected = false;
let iterations;

/** One iteration of one user. */
export function iterate() {
  iterations ??= exec.vu.idInTest - 1;
  const sampled = iterations++ % sample === 0;
  if (perCall) {
    if (calls.length === 0) {
      inSessionOfItsOwn(() => {});
    }
    calls.forEach((call, i) => {
      const answer = inSessionOfItsOwn(call);
      if (sampled && answer?.ok) {
        check(answer, i);
      }
    });
    return;
  }
  if (session === undefined || !session.alive) {
    session = connect();
    if (session === undefined) {
      return;
    }
  }
  for (let i = 0; i < calls.length; i++) {
    const answer = calls[i](session);
    if (sampled && answer.ok) {
      check(answer, i);
    }
  }
}

/** Opens the session of a user before its first iteration, and waits for the end of the scenario. */
export function prepare() {
  if (!perCall && session === undefined) {
    session = connect();
  }
  sleep(60);
}

function inSessionOfItsOwn(call) {
  const own = connect();
  if (own === undefined) {
    return undefined;
  }
  const answer = call(own);
  own.close();
  return answer;
}

// A new session, or undefined. Without a server there is nothing to measure, so that a user who has never had a session ends the
// run. Later failures are counted by k6/x/mcp.
function connect() {
  try {
    const opened = client.connect();
    connected = true;
    return opened;
  } catch (e) {
    if (!connected && e.kind !== 'interrupted') {
      exec.test.abort(`no session with ${__ENV.MCP_URL}: ${e.kind}: ${e.message}`);
    }
    sleep(pauseAfterFailure);
    return undefined;
  }
}

function operation({ tool, arguments: args, method, ...rest }) {
  if (Object.keys(rest).length > 0) {
    throw new Error(`CALLS has an unknown member ${Object.keys(rest)[0]}`);
  }
  if (typeof tool === 'string' && method === undefined) {
    const encoded = args && encode(args);
    return (s) => s.callTool(tool, encoded);
  }
  if (method === 'tools/list' && tool === undefined && args === undefined) {
    return (s) => s.listTools();
  }
  throw new Error('CALLS: want {"method": "tools/list"} or {"tool": "<name>", "arguments": {...}}');
}

// Rejects an answer that is not the right one. One that cannot even be read is wrong too.
function check(answer, i) {
  let why;
  try {
    why = comparison(answer, expected[i]);
  } catch (e) {
    why = `the answer cannot be read: ${e}`;
  }
  if (why !== '') {
    answer.reject(why);
  }
}

function comparison(answer, want) {
  if ('items' in answer) {
    return difference('', want, answer.items.map((t) => t.name).sort());
  }
  const parsed = JSON.parse(answer.text()); // the text block must be the same JSON
  return difference('', want, answer.structuredContent) || difference('text block: ', want, parsed);
}

// The first difference, as a JSON pointer with both values: numbers by value, objects by key, arrays in order.
function difference(at, want, got) {
  if (want === got) {
    return '';
  }
  if (!isObject(want) || !isObject(got) || Array.isArray(want) !== Array.isArray(got)) {
    return `${at || 'the whole'}: want ${show(want)}, got ${show(got)}`;
  }
  for (const key of new Set([...Object.keys(want), ...Object.keys(got)])) {
    const path = `${at}/${key.replace(/~/g, '~0').replace(/\//g, '~1')}`;
    if (!Object.hasOwn(want, key) || !Object.hasOwn(got, key)) {
      return `${path}: ${Object.hasOwn(want, key) ? 'missing' : 'not expected'}`;
    }
    const found = difference(path, want[key], got[key]);
    if (found !== '') {
      return found;
    }
  }
  return '';
}

function isObject(v) {
  return typeof v === 'object' && v !== null;
}

function show(v) {
  return v === undefined ? 'nothing' : JSON.stringify(v).slice(0, 100);
}

/** What k6 counts itself: iterations. Nothing is printed. */
export function handleSummary({ metrics }) {
  if (!__ENV.K6_MCP_HISTOGRAMS) {
    return {};
  }
  const count = (name) => metrics[name]?.values.count ?? 0;
  const counts = { iterations: count('iterations'), dropped_iterations: count('dropped_iterations') };
  return { [`${__ENV.K6_MCP_HISTOGRAMS}/iterations.json`]: `${JSON.stringify(counts)}\n` };
}

function required(name) {
  const value = __ENV[name];
  if (value === undefined || value === '') {
    throw new Error(`${name} is not set; the heads of the script and of workload.js say what it must be`);
  }
  return value;
}

function list(name) {
  let value;
  try {
    value = JSON.parse(required(name));
  } catch (e) {
    throw new Error(`${name}: ${e.message}`);
  }
  if (!Array.isArray(value)) {
    throw new Error(`${name}: want a JSON array, got ${show(value)}`);
  }
  return value;
}

function oneOf(name, values) {
  const value = required(name);
  if (!values.includes(value)) {
    throw new Error(`${name}: want ${values.join(' or ')}, got ${value}`);
  }
  return value;
}

/** A variable that is a whole number of at least 1. */
export function wholeNumber(name) {
  const value = Number(required(name));
  if (!Number.isInteger(value) || value < 1) {
    throw new Error(`${name}: want a whole number of at least 1, got ${__ENV[name]}`);
  }
  return value;
}

/** A variable that is a number of seconds, with its unit. */
export function seconds(name, otherwise) {
  const value = __ENV[name] || otherwise || required(name);
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(value);
  if (match === null) {
    throw new Error(`${name}: want a number with ms, s or m, such as 10s, got ${value}`);
  }
  return Number(match[1]) * { ms: 0.001, s: 1, m: 60 }[match[2]];
}
