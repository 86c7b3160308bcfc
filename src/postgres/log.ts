/** What this floor tells the operator. Any pino logger fits. */
export interface Log {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}
