/** Writes log lines: an event with its fields. A pino logger implements it. */
export interface Log {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Returns a log that adds these fields to every line. */
export function withFields(log: Log, fields: object): Log {
  return {
    info: (details, message) => log.info({ ...fields, ...details }, message),
    warn: (details, message) => log.warn({ ...fields, ...details }, message),
    error: (details, message) => log.error({ ...fields, ...details }, message),
  };
}
