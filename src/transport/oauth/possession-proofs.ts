import { createPublicKey, hash, verify } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { parsedJson } from "../../domain/core/json.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { PossessionProof } from "../authentication.ts";

/** How old or early a proof may be, and for how long a used one is kept, ms. */
const WINDOW_MS = 60_000;

/** Longest proof, characters: a key and a signature are a few hundred. */
const MAX_LENGTH = 2_000;

const MAX_USED = 10_000;

const coordinate = z.string().regex(/^[\w-]{43}$/);

/** Public keys as proofs carry them; private members are refused (RFC 9449 section 4.2). */
const jwk = z.union([
  z.object({
    kty: z.literal("EC"),
    crv: z.literal("P-256"),
    x: coordinate,
    y: coordinate,
    d: z.undefined().optional(),
  }),
  z.object({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: coordinate, d: z.undefined().optional() }),
]);

const header = z.object({ typ: z.literal("dpop+jwt"), alg: z.enum(["ES256", "EdDSA", "Ed25519"]), jwk });

const claims = z.object({
  jti: z.string().min(1).max(200),
  htm: z.string(),
  htu: z.string(),
  iat: z.number(),
  ath: z.string(),
});

/** Checks proofs of possession at the resources (RFC 9449 section 7). An instance knows those used there. */
export class PossessionProofs {
  readonly #clock: Clock;
  readonly #baseUrl: () => string;
  readonly #used = new Lru<string, number>(MAX_USED);
  /** A request with several messages is checked for each. */
  readonly #checked = new WeakMap<object, string>();

  constructor(clock: Clock, baseUrl: () => string) {
    this.#clock = clock;
    this.#baseUrl = baseUrl;
  }

  /**
   * Checks that the request was signed with the key of an access token.
   * @param boundTo thumbprint of the key (RFC 7638)
   * @throws ToolgateError UNAUTHORIZED
   */
  require(token: string, boundTo: string, possession: PossessionProof | undefined): void {
    if (possession && this.#checked.get(possession.request) === token) return;
    const problem = this.#problemOf(token, boundTo, possession);
    if (problem !== undefined)
      throw new ToolgateError(
        "UNAUTHORIZED",
        `the access token is bound to a key, and the DPoP proof ${problem}`,
      );
    if (possession) this.#checked.set(possession.request, token);
  }

  #problemOf(token: string, boundTo: string, possession: PossessionProof | undefined): string | undefined {
    const { proof, method, path } = possession ?? {};
    if (proof === undefined || proof.length > MAX_LENGTH) return "is missing";
    const [head = "", body = "", signature = "", ...more] = proof.split(".");
    const [read, claimed] = [header.safeParse(decoded(head)), claims.safeParse(decoded(body))];
    if (!read.success || !claimed.success || more.length > 0) return "is not of that form";
    const { jti, htm, htu, iat, ath } = claimed.data;
    if (thumbprintOf(read.data.jwk) !== boundTo) return "is of another key";
    if (ath !== hash("sha256", token, "base64url")) return "is of another token";
    if (htm !== method || addressOf(htu) !== addressOf(`${this.#baseUrl()}${path}`))
      return "is of another request";
    const now = this.#clock.now();
    if (Math.abs(now - iat * 1000) > WINDOW_MS) return "is too old or too early";
    if (!isSigned(read.data, `${head}.${body}`, signature)) return "has a wrong signature";
    const name = `${boundTo} ${jti}`;
    if (now - (this.#used.get(name) ?? Number.NEGATIVE_INFINITY) < 2 * WINDOW_MS) return "was used before";
    this.#used.set(name, now);
    return undefined;
  }
}

function decoded(part: string): unknown {
  return parsedJson(Buffer.from(part, "base64url").toString());
}

/** Without query and fragment (RFC 9449 section 4.3). */
function addressOf(text: string): string | undefined {
  const url = URL.parse(text);
  return url ? `${url.origin}${url.pathname}` : undefined;
}

/** RFC 7638: the required members in the order of their names. */
function thumbprintOf(key: z.infer<typeof jwk>): string {
  const { crv, kty, x } = key;
  return hash(
    "sha256",
    JSON.stringify(key.kty === "EC" ? { crv, kty, x, y: key.y } : { crv, kty, x }),
    "base64url",
  );
}

function isSigned({ jwk: key, alg }: z.infer<typeof header>, text: string, signature: string): boolean {
  if ((alg === "ES256") !== (key.kty === "EC")) return false;
  try {
    const { d: _, ...members } = key;
    const publicKey = createPublicKey({ key: members, format: "jwk" });
    const signed = Buffer.from(signature, "base64url");
    return alg === "ES256"
      ? verify("sha256", Buffer.from(text), { key: publicKey, dsaEncoding: "ieee-p1363" }, signed)
      : verify(null, Buffer.from(text), publicKey, signed);
  } catch {
    return false;
  }
}
