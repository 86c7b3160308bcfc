/** The log of this layer; any pino logger fits. */
export interface Log {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}
