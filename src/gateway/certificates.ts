import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Metrics } from "../app/operations/metrics.ts";
import { ConfigError, type ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { ServerTls, TlsFiles } from "../transport/server-tls.ts";

/** How often the files are read again, ms. */
const READ_MS = 10_000;

type Settings = Pick<ServeConfig, "TLS_CERT" | "TLS_KEY" | "TLS_CLIENT_CA">;

/** The certificate of the servers. Its files are read again while they run, as it is renewed. */
export class Certificates implements ServerTls {
  readonly #settings: Settings;
  readonly #metrics: Metrics;
  readonly #log: Log;
  readonly #listeners: ((files: TlsFiles) => void)[] = [];
  #files: TlsFiles;
  /** Why the files could not be used the last time. */
  #problem = "";

  /**
   * Reads the files, and again until the signal aborts. @returns undefined without TLS_CERT
   * @throws ConfigError when the files cannot be used
   */
  static async open(settings: Settings, metrics: Metrics, log: Log, signal: AbortSignal) {
    if (settings.TLS_CERT === undefined) return undefined;
    const opened = new Certificates(settings, await readFiles(settings), metrics, log);
    const timer = setInterval(() => void opened.#readAgain(), READ_MS).unref();
    signal.addEventListener("abort", () => clearInterval(timer));
    return opened;
  }

  private constructor(settings: Settings, files: TlsFiles, metrics: Metrics, log: Log) {
    this.#settings = settings;
    this.#metrics = metrics;
    this.#log = log;
    this.#files = files;
    this.#measure();
  }

  get files(): TlsFiles {
    return this.#files;
  }

  onChange(listener: (files: TlsFiles) => void): void {
    this.#listeners.push(listener);
  }

  /** Files that cannot be used, as while they are replaced, leave the certificate in force. */
  async #readAgain(): Promise<void> {
    let files: TlsFiles;
    try {
      files = await readFiles(this.#settings);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.#problem) this.#log.error({ problem }, "the certificate in force stays");
      this.#problem = problem;
      return;
    }
    this.#problem = "";
    if (Buffer.concat(listOf(files)).equals(Buffer.concat(listOf(this.#files)))) return;
    this.#files = files;
    this.#measure();
    this.#log.info({ expires: expiryOf(files) }, "a new certificate is in force");
    for (const listener of this.#listeners) listener(files);
  }

  #measure(): void {
    const seconds = expiryOf(this.#files).getTime() / 1_000;
    this.#metrics.set("toolgate_certificate_expires_timestamp_seconds", seconds);
  }
}

/** @throws ConfigError naming the setting */
async function readFiles({ TLS_CERT, TLS_KEY, TLS_CLIENT_CA }: Settings): Promise<TlsFiles> {
  const [cert, key, ca] = await Promise.all([
    readPem("TLS_CERT", TLS_CERT),
    readPem("TLS_KEY", TLS_KEY),
    TLS_CLIENT_CA === undefined ? undefined : readPem("TLS_CLIENT_CA", TLS_CLIENT_CA),
  ]);
  const files = { cert, key, ca };
  check("TLS_CERT", () => expiryOf(files));
  check("TLS_KEY", () => createSecureContext({ cert, key }), ", or is not the key of TLS_CERT");
  if (ca !== undefined) check("TLS_CLIENT_CA", () => new X509Certificate(ca));
  return files;
}

async function readPem(setting: string, file: string | undefined): Promise<Buffer> {
  try {
    return await readFile(file ?? "");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw new ConfigError([`${setting}: ${file} cannot be read (${code}); set the path of a PEM file`]);
  }
}

/** OpenSSL's own message may quote the file. */
function check(setting: string, read: () => unknown, otherwise = ""): void {
  try {
    read();
  } catch {
    throw new ConfigError([`${setting}: the file is not valid PEM${otherwise}`]);
  }
}

const listOf = ({ cert, key, ca }: TlsFiles): Buffer[] => [cert, key, ca ?? Buffer.of()];

const expiryOf = ({ cert }: TlsFiles): Date => new X509Certificate(cert).validToDate;
