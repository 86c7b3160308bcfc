import { createHmac } from "node:crypto";
import type { TokenSecrets } from "../../app/oauth/oauth-records.ts";

/** Secrets of registered clients: derived from their identifiers, so that none are stored. */
export class ClientSecrets {
  readonly #secrets: TokenSecrets;

  constructor(secrets: TokenSecrets) {
    this.#secrets = secrets;
  }

  /** Version of the secrets of new clients. */
  get version(): number {
    return this.#secrets.current().version;
  }

  /** Returns the secret of a client; undefined when that version does not exist any more. */
  async of(clientId: string, version: number): Promise<string | undefined> {
    const found = await this.#secrets.find(version);
    return found && createHmac("sha256", found.secret).update(`oauth client ${clientId}`).digest("base64url");
  }
}
