/** Log of the RPC endpoints. Fields hold only the host of a URL. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
