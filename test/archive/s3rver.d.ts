/** An S3 server in this process. Its package has no types. */
declare module "s3rver" {
  export default class S3rver {
    constructor(options: Readonly<Record<string, unknown>>);
    run(): Promise<unknown>;
    close(): Promise<void>;
  }
}
