/** calculate_fibonacci. Runs on the event loop; the README says why. */
export function calculateFibonacci({ n }: { n: number }): { n: number; result: number } {
  return { n, result: fibonacci(n) };
}

// Plain double recursion on purpose: the contract wants the work, not the number.
function fibonacci(n: number): number {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
