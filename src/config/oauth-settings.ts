import { z } from "zod";
import type { GrantTerms, TrustedClient, TrustedIssuer } from "../domain/accounts/outside-identity.ts";
import { LOOPBACK } from "../domain/accounts/oauth-client.ts";
import { DEFAULT_SCOPES, SCOPES } from "../domain/accounts/scope.ts";
import { uuidOf } from "../domain/core/ids.ts";
import { parsedJson } from "../domain/core/json.ts";

/** RFC 8414 section 2; http on this machine only. */
const issuerUrl = z.string().refine((text) => {
  const url = URL.parse(text);
  if (!url || /[?#]/.test(text) || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname));
}, "must be an https:// address, or http:// on loopback, without query and fragment");

const accountId = z.string().refine((id) => uuidOf("acct", id) !== undefined, "must be an account, acct_…");
const amount = z
  .int()
  .positive()
  .transform((micro) => BigInt(micro))
  .optional();

const termsOf = {
  scopes: z
    .array(z.enum(SCOPES))
    .min(1)
    .default([...DEFAULT_SCOPES]),
  group: z
    .string()
    .refine((id) => uuidOf("grp", id) !== undefined, "must be a group, grp_…")
    .optional(),
  limits: z
    .strictObject({
      call_usdc_microusd: amount,
      day_usdc_microusd: amount,
      month_usdc_microusd: amount,
      total_usdc_microusd: amount,
      tools: z.array(z.string().min(1)).min(1).optional(),
    })
    .optional(),
};

function grantTerms({ scopes, group, limits }: z.output<z.ZodObject<typeof termsOf>>): GrantTerms {
  return {
    scopes,
    groupId: group,
    limits: limits && {
      perCall: limits.call_usdc_microusd,
      perDay: limits.day_usdc_microusd,
      perMonth: limits.month_usdc_microusd,
      inAll: limits.total_usdc_microusd,
      ...(limits.tools && { tools: limits.tools }),
    },
  };
}

const names = z.array(z.string().min(1)).min(1);

const issuer = z
  .strictObject({
    issuer: issuerUrl,
    audience: z
      .union([
        z
          .string()
          .min(1)
          .transform((one) => [one]),
        names,
      ])
      .optional(),
    clients: names.optional(),
    claim: z.string().min(1).default("sub"),
    account: accountId.optional(),
    accounts: z.record(z.string().min(1), accountId).optional(),
    first_use: z.boolean().default(true),
    ...termsOf,
  })
  .transform((set, context): TrustedIssuer => {
    const { account, accounts, claim } = set;
    if ((account === undefined) === (accounts === undefined))
      context.addIssue({ code: "custom", message: "set account, or accounts by values of a claim" });
    return {
      issuer: set.issuer,
      audiences: set.audience,
      clients: set.clients && new Set(set.clients),
      account: account ?? { claim, accounts: new Map(Object.entries(accounts ?? {})) },
      firstUse: set.first_use,
      terms: grantTerms(set),
    };
  });

/** Only public members: the gateway needs no private key of a client. */
const publicJwk = z.looseObject({
  kty: z.enum(["EC", "OKP", "RSA"]),
  d: z.undefined("must be a public key").optional(),
});

const client = z
  .strictObject({
    client_id: z.string().regex(/^(?!oac_|https:)[\x21-\x7e]{1,200}$/, "must be 1 to 200 characters"),
    name: z.string().min(1).max(100).optional(),
    client_secret: z.string().min(32, "must have at least 32 characters").max(200).optional(),
    jwks: z.strictObject({ keys: z.array(publicJwk).min(1).max(10) }).optional(),
    account: accountId.optional(),
    ...termsOf,
  })
  .transform((set, context): TrustedClient => {
    const { client_secret: secret, jwks } = set;
    if ((secret === undefined) === (jwks === undefined))
      context.addIssue({ code: "custom", message: "set client_secret or jwks" });
    return {
      clientId: set.client_id,
      name: set.name,
      credential: secret === undefined ? { keys: jwks?.keys ?? [] } : { secret },
      account: set.account,
      terms: grantTerms(set),
    };
  });

/** A JSON list whose entries have different names. */
function listOf<Entry>(entry: z.ZodType<Entry>, nameOf: (entry: Entry) => string) {
  return z
    .string()
    .transform((text, context) => {
      const json = parsedJson(text);
      if (Array.isArray(json)) return Array.from<unknown>(json);
      context.addIssue({ code: "custom", message: "must be a JSON list" });
      return z.NEVER;
    })
    .pipe(z.array(entry).max(100))
    .refine((list) => new Set(list.map(nameOf)).size === list.length, "names one twice")
    .optional();
}

export const trustedIssuers = () => listOf(issuer, ({ issuer: url }) => url);
export const trustedClients = () => listOf(client, ({ clientId }) => clientId);
