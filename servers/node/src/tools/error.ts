/** A call that cannot succeed, told to the caller as a tool error. The message names the argument or the upstream. */
export class ToolError extends Error {
  override name = 'ToolError';
}
