/** Where operators read what the chain's endpoints do. Fields never hold more of an endpoint's URL than its host. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
