// Open loop: RATE iterations begin each second, whether or not earlier ones have ended. Response times count from the moment at
// which an iteration was to begin; when no user is free it is dropped, which iterations.json counts.
//
//   RATE      iterations per second, a whole number
//   USERS     number of virtual users, all of them there from the start
//   DURATION  of the whole load
//
// workload.js says what an iteration is.
import { iterate, seconds, wholeNumber } from './workload.js';

export { handleSummary } from './workload.js';

const users = wholeNumber('USERS');

export const options = {
  scenarios: {
    open: {
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
