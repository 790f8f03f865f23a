/** The levels of LOG_LEVEL, from the most to the least talkative. */
export const availableLevels = ['debug', 'info', 'warn', 'error'] as const;

export type LogLevel = (typeof availableLevels)[number];

/** Writes lines to standard error; levels below the chosen one cost a call and nothing else. */
export type Logger = Readonly<Record<LogLevel, (message: string, error?: unknown) => void>>;

/** Returns a logger that drops everything below the level. */
export function createLogger(level: LogLevel): Logger {
  const threshold = availableLevels.indexOf(level);
  const write = (name: LogLevel) =>
    availableLevels.indexOf(name) < threshold
      ? () => {}
      : (message: string, error?: unknown) => {
          const cause = error === undefined ? '' : `: ${error instanceof Error ? error.stack : String(error)}`;
          // Standard output belongs to the protocol on stdio.
          process.stderr.write(`${new Date().toISOString()} ${name} ${message}${cause}\n`);
        };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
