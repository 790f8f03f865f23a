// Open loop: RATE iterations begin each second, whether or not earlier ones have ended. Response times count from the moment at
// which an iteration was to begin; when no user is free it is dropped, which iterations.json counts.
//
//   RATE      iterations per second, a whole number
//   USERS     number of virtual users, all of them there from the start
//   DURATION  of the whole load
//
// Users open their sessions before it: hundreds of handshakes at once would hold up the first iterations.
// workload.js says what an iteration is.
import { iterate, seconds, wholeNumber } from './workload.js';

export { handleSummary, prepare } from './workload.js';

const users = wholeNumber('USERS');
// A handshake with the slowest server takes 1 ms of its CPU, the first ones more. internal/experiment/cost.go counts on these times.
const connecting = `${Math.max(500, 1.5 * users)}ms`;

export const options = {
  scenarios: {
    connect: {
      executor: 'ramping-vus', // one that may last for less than a second
      exec: 'prepare',
      startVUs: users,
      stages: [{ duration: connecting, target: users }],
      gracefulStop: '0s',
    },
    open: {
      startTime: connecting,
      executor: 'constant-arrival-rate',
      rate: wholeNumber('RATE'),
      timeUnit: '1s',
      duration: `${seconds('DURATION')}s`,
      preAllocatedVUs: users,
      maxVUs: users,
      gracefulStop: '30s', // longer than any call of the contract: those in flight at the end still count
    },
  },
};

export default iterate;
