import { z } from "zod";
import type { ApiKeys } from "../../app/accounts/api-keys.ts";
import type { OAuthRecords } from "../../app/oauth/oauth-records.ts";
import { type KeyRules, type RequestedLimits, validateNewKey } from "../../domain/accounts/new-key.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { parsedJson, type JsonObject } from "../../domain/core/json.ts";
import { redirectHost } from "./client-metadata.ts";

/** What the person decides on, as it was when the application asked. */
export const consentDetails = z.object({
  client: z.object({ clientId: z.string(), name: z.string(), host: z.string(), verified: z.boolean() }),
  scopes: z.array(z.string()).min(1),
  resource: z.string(),
});

export type ConsentDetails = z.infer<typeof consentDetails>;

/** What is used of a stored interaction. */
const interaction = z.object({
  exp: z.number(),
  returnTo: z.string(),
  params: z.object({ redirect_uri: z.string() }),
  prompt: z.object({ details: consentDetails }),
});

const MAX_MICROUSD = BigInt(Number.MAX_SAFE_INTEGER);

/** Micro-USD: an integer, or its digits. */
export const amount = z
  .union([z.string().regex(/^\d{1,16}$/), z.int().positive()], "must be a whole number of micro-USD")
  .transform(BigInt)
  .refine((value) => value > 0n && value <= MAX_MICROUSD, "must be from 1 to 9007199254740991");

const limits = z.strictObject({
  call_usdc_microusd: amount.optional(),
  day_usdc_microusd: amount.optional(),
  month_usdc_microusd: amount.optional(),
  total_usdc_microusd: amount.optional(),
  expires_at: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .optional(),
  tools: z.array(z.string().min(1).max(200)).max(100).optional(),
});

const decision = z.discriminatedUnion("approve", [
  z.strictObject({ approve: z.literal(false) }),
  z.strictObject({
    approve: z.literal(true),
    name: z.string().min(1).max(100).optional(),
    scopes: z.array(z.string()).min(1).max(20).optional(),
    limits: limits.optional(),
  }),
]);

export interface ConsentParts {
  readonly records: Pick<OAuthRecords, "find" | "answer">;
  readonly apiKeys: Pick<ApiKeys, "connect">;
  readonly rules: () => KeyRules;
}

/** What a person is asked. @throws ToolgateError NOT_FOUND: unknown, expired or answered */
async function findConsent({ records }: Pick<ConsentParts, "records">, id: string) {
  const record = await records.find("Interaction", id);
  const parsed = interaction.safeParse(record?.payload);
  if (!parsed.success || record?.consumedAt)
    throw new ToolgateError("NOT_FOUND", "no application waits for this consent; connect it again");
  return parsed.data;
}

/** Returns the members that the page shows. @throws ToolgateError NOT_FOUND */
export async function shownConsent(parts: Pick<ConsentParts, "records">, id: string): Promise<JsonObject> {
  const { exp, params, prompt } = await findConsent(parts, id);
  const { client, scopes, resource } = prompt.details;
  return {
    client: {
      id: client.clientId,
      name: client.name,
      host: client.host,
      verified: client.verified,
      redirect_host: redirectHost(params.redirect_uri),
    },
    scopes,
    resource,
    expires_at: new Date(exp * 1000).toISOString(),
  };
}

/**
 * Carries out a person's decision: a key for the application, or a refusal.
 * @returns where the browser goes on
 * @throws ToolgateError NOT_FOUND; INVALID_REQUEST for a body that is none, or a second decision
 */
export async function decideConsent(
  parts: ConsentParts,
  { id, accountId, body }: { id: string; accountId: string; body: Buffer },
): Promise<JsonObject> {
  const { returnTo, prompt } = await findConsent(parts, id);
  const parsed = decision.safeParse(parsedJson(body.toString()));
  if (!parsed.success) throw problemOf(parsed.error);
  const { client, scopes, resource } = prompt.details;
  if (!parsed.data.approve) {
    const refused = { error: "access_denied", error_description: "the person refused" };
    if (!(await parts.records.answer(id, refused))) throw answeredBefore();
    return { location: returnTo };
  }
  const chosen = parsed.data.scopes ?? scopes;
  for (const [index, scope] of chosen.entries())
    if (!scopes.includes(scope)) throw invalidField(`scopes[${index}]`, "was not requested");
  const name = parsed.data.name ?? client.name;
  const wanted = { name, scopes: chosen, limits: requestedLimits(parsed.data.limits) };
  const key = { accountId, ...validateNewKey(wanted, parts.rules()) };
  await parts.apiKeys.connect(key, { interactionId: id, client, resource });
  return { location: returnTo };
}

function requestedLimits(sent: z.infer<typeof limits> | undefined): RequestedLimits | undefined {
  return (
    sent && {
      perCall: sent.call_usdc_microusd,
      perDay: sent.day_usdc_microusd,
      perMonth: sent.month_usdc_microusd,
      inAll: sent.total_usdc_microusd,
      expiresAt: sent.expires_at,
      ...(sent.tools && { tools: sent.tools }),
    }
  );
}

/** Returns the error of a body that is not of the expected form. */
export function problemOf({ issues: [issue] }: z.ZodError): ToolgateError {
  return invalidField(issue?.path.join(".") || "body", issue?.message ?? "must be a JSON object");
}

function answeredBefore(): ToolgateError {
  return new ToolgateError(
    "INVALID_REQUEST",
    "the request was answered before; connect the application again",
  );
}
