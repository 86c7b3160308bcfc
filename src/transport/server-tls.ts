/** PEM files of a server. */
export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Authorities of the only clients that may connect; undefined: clients need no certificate. */
  readonly ca: Buffer | undefined;
}

/** The certificate in force of a server, which may be renewed while it runs. */
export interface ServerTls {
  readonly files: TlsFiles;
  onChange(listener: (files: TlsFiles) => void): void;
}
