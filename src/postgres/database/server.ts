import { Client, type ClientConfig } from "pg";
import { serverUrls } from "../../domain/core/database-url.ts";
import { Primary } from "./primary.ts";

export interface ServerOptions {
  readonly connectionString: string;
  /** The class of the connections; for several servers they find the primary. */
  readonly Client: typeof Client;
}

/** Of each URL, for all pools of this process. */
const primaries = new Map<string, Primary>();

/**
 * Returns how to connect to a database URL. With several servers every new connection goes to the one that
 * last was the primary; after a failure the next connection asks all of them.
 * @throws TypeError for a URL that the settings would refuse
 */
export function serverOf(url: string): ServerOptions {
  const primary = primaryOf(url);
  return { connectionString: primary.urls[0], Client: primaryClient(primary) };
}

export function clientFor(url: string, config: Omit<ClientConfig, "connectionString"> = {}): Client {
  const { connectionString, Client: ServerClient } = serverOf(url);
  return new ServerClient({ ...config, connectionString });
}

export function primaryOf(url: string): Primary {
  const urls = serverUrls(url);
  if (urls === undefined) throw new TypeError("not a URL of PostgreSQL servers");
  const primary = primaries.get(url) ?? new Primary(urls);
  primaries.set(url, primary);
  return primary;
}

function primaryClient(primary: Primary): typeof Client {
  return class PrimaryClient extends Client {
    constructor(config?: ClientConfig) {
      super(config);
      // An unhandled error event would end the process. The running query rejects with the error.
      this.on("error", () => {});
    }

    override connect(): Promise<Client>;
    override connect(callback: ((error: Error) => void) | ((error: null, client: Client) => void)): void;
    override connect(callback?: (...values: never[]) => void): Promise<Client> | void {
      const connected = this.#connect();
      if (callback === undefined) return connected;
      const report = (...values: readonly unknown[]): void => {
        Reflect.apply(callback, undefined, values);
      };
      connected.then((client) => report(null, client), report);
    }

    async #connect(): Promise<Client> {
      try {
        const { host, port } = await primary.address();
        Object.assign(this, { host, port });
        await super.connect();
        // Compiling an audit takes 16 times as long as running it; no other statement runs for long.
        await this.query("set jit = off");
        await primary.admit(this);
        return this;
      } catch (error) {
        primary.lost();
        this.end().catch(() => {});
        throw error;
      }
    }
  };
}
