import { Client, type ClientConfig } from "pg";
import { serverUrls } from "../../domain/core/database-url.ts";

/** SQLSTATE read_only_sql_transaction: the error that a write to a standby gets. */
const READ_ONLY = "25006";

/** Options of pg for the server of a URL. */
export interface ServerOptions {
  readonly connectionString: string;
  /** The class of the connections; for several servers they find the primary. */
  readonly Client: typeof Client;
}

/**
 * Returns how to connect to a database URL. With several servers every new connection goes to the one that
 * last was the primary; when it fails or is read-only, the next connection tries the next server.
 * @throws TypeError for a URL that the settings would refuse
 */
export function serverOf(url: string): ServerOptions {
  const urls = serverUrls(url);
  if (urls === undefined) throw new TypeError("not a URL of PostgreSQL servers");
  if (urls.length === 1) return { connectionString: urls[0], Client };
  return { connectionString: urls[0], Client: primaryClient(urls) };
}

/** Returns a client for the server of a URL. */
export function clientFor(url: string, config: Omit<ClientConfig, "connectionString"> = {}): Client {
  const { connectionString, Client: ServerClient } = serverOf(url);
  return new ServerClient({ ...config, connectionString });
}

function primaryClient(urls: readonly [string, ...string[]]): typeof Client {
  let current = 0;
  return class PrimaryClient extends Client {
    readonly #index = current;

    constructor(config: ClientConfig = {}) {
      super({ ...config, connectionString: urls[current] ?? urls[0] });
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
        await super.connect();
        await this.#requirePrimary();
        return this;
      } catch (error) {
        // Connections that failed at the same time move on once.
        if (current === this.#index) current = (current + 1) % urls.length;
        this.end().catch(() => {});
        throw error;
      }
    }

    async #requirePrimary(): Promise<void> {
      const { rows } = await this.query<{ readOnly: boolean }>(
        `select current_setting('transaction_read_only')::boolean as "readOnly"`,
      );
      if (rows[0]?.readOnly === false) return;
      throw Object.assign(new Error("this server is a standby"), { code: READ_ONLY });
    }
  };
}
