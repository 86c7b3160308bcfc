import type { OAuthRecords } from "../../app/oauth/oauth-records.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { parsedJson, type JsonObject } from "../../domain/core/json.ts";
import { ClientMetadataError, readClientMetadata } from "./client-metadata.ts";
import type { ClientSecrets } from "./client-secrets.ts";

/** How long a client stays that no person has consented to, ms. */
const UNUSED_MS = 3_600_000;

export interface RegistrationParts {
  readonly records: Pick<OAuthRecords, "save">;
  readonly secrets: ClientSecrets;
  readonly clock: Clock;
  readonly random: Random;
}

/** Registers a client (RFC 7591 section 3). @returns status and body */
export async function registerClient(
  { records, secrets, clock, random }: RegistrationParts,
  body: Buffer,
): Promise<{ status: number; json: JsonObject }> {
  try {
    const { metadata, authMethod } = readClientMetadata(parsedJson(body.toString()), "client_secret_basic");
    const clientId = `oac_${Buffer.from(random.bytes(16)).toString("hex")}`;
    const { version } = secrets;
    const secret = authMethod === "none" ? undefined : await secrets.of(clientId, version);
    const now = clock.now();
    const payload = { ...metadata, ...(secret !== undefined && { secret_version: version }) };
    await records.save("Client", clientId, {
      payload,
      expiresAt: new Date(now + UNUSED_MS),
      keyId: undefined,
    });
    const issued = { client_id: clientId, client_id_issued_at: Math.floor(now / 1000) };
    const secretMembers = secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 };
    return { status: 201, json: { ...issued, ...secretMembers, ...metadata } };
  } catch (error) {
    if (!(error instanceof ClientMetadataError)) throw error;
    return { status: 400, json: { error: error.code, error_description: error.message } };
  }
}
