import { hash } from "node:crypto";
import type { MicroUsd } from "../core/money.ts";
import { idOf } from "../core/ids.ts";
import { type Scope, SCOPES } from "./scope.ts";

/** Limits of single calls of an API key, besides its scopes. */
export interface AccessLimits {
  /** Undefined: never. */
  expiresAt: Date | undefined;
  /** Maximum price of a call, micro-USD; undefined: unlimited. */
  perCall: MicroUsd | undefined;
  /** Names of allowed tools; undefined: all. */
  tools: ReadonlySet<string> | undefined;
}

/** The authenticated caller (specification 5). */
export interface Caller {
  keyId: string;
  accountId: string;
  scopes: ReadonlySet<Scope>;
  /** Of each API key. */
  tier: RateTier;
  /** Shared by all API keys of the account. */
  accountTier: RateTier;
  /** Whether the account has the operator role, required by the internal services. */
  operator: boolean;
  /** Undefined: no limits besides the scopes. */
  limits: AccessLimits | undefined;
  /** Whether limits of the key or its group bound what it takes from the balance. The ledger checks them. */
  budgeted: boolean;
  /** Version of the account's limits that these were read at; the ledger compares it. */
  limitsVersion: number;
  /** Why the operator blocked the account; undefined when not blocked. */
  blockedReason: string | undefined;
  /** Undefined: the default. */
  requestLog?: RequestLogSettings | undefined;
  /** An application calls with an access token, which has fewer rights than a key: never the operator's. */
  viaOAuth?: boolean;
  /** Thumbprint of the key that signs requests with its access token (RFC 9449); undefined: none has to. */
  boundTo?: string | undefined;
}

/**
 * Returns the caller of an access token of a key: with the token's scopes, as far as the key has them.
 * @param boundTo see {@link Caller.boundTo}
 */
export function tokenCaller(key: Caller, scopes: ReadonlySet<string>, boundTo: string | undefined): Caller {
  const granted = new Set([...key.scopes].filter((scope) => scopes.has(scope)));
  return { ...key, scopes: granted, operator: false, viaOAuth: true, boundTo };
}

/** Whether the key's limits allow the tool. Does not check scopes. */
export function allowsTool({ limits }: Caller, tool: string): boolean {
  return limits?.tools === undefined || limits.tools.has(tool);
}

/** A token bucket (GCRA, specification 8). */
export interface RateTier {
  /** Long-term rate. */
  ratePerMinute: number;
  /** Capacity of the bucket. */
  burst: number;
}

/** The tier `default` of specification 8, unless the configuration has another one. */
export const DEFAULT_TIER: RateTier = { ratePerMinute: 60, burst: 10 };

/** The maximum tier: one token per microsecond, the resolution of the buckets. */
export const MAX_TIER: RateTier = { ratePerMinute: 60_000_000, burst: 10_000_000 };

/** Rate limits of a tier: of each API key, and of all keys of an account; undefined: ten times those. */
interface TierLimits {
  readonly rate_per_minute: number;
  readonly burst: number;
  readonly account_rate_per_minute?: number | undefined;
  readonly account_burst?: number | undefined;
}

/** The tiers of a document by name, `default` among them. */
export type Tiers = Readonly<Record<string, TierLimits>>;

/** Result of taking a token. */
export interface RateDecision {
  allowed: boolean;
  /** X-RateLimit-Limit: requests per minute. */
  limit: number;
  /** X-RateLimit-Remaining: calls possible right now, 0..burst. */
  remaining: number;
  /** X-RateLimit-Reset: Unix seconds at which the bucket is full again. */
  resetAt: number;
  /** Seconds until one call is possible; 0 when allowed. */
  retryAfterSeconds: number;
  /** Set when the account's bucket refuses; the figures are then the account's. */
  ofAccount?: true;
}

/** Of which requests params and result are stored. */
const REQUEST_BODIES = ["none", "errors", "all"] as const;

export type RequestBodies = (typeof REQUEST_BODIES)[number];

export interface RequestLogSettings {
  readonly bodies: RequestBodies;
  /** How long requests are kept, 1 to 720 hours. */
  readonly hours: number;
}

export const DEFAULT_REQUEST_LOG: RequestLogSettings = { bodies: "none", hours: 168 };

export function isRequestBodies(text: string): text is RequestBodies {
  return REQUEST_BODIES.some((one) => one === text);
}

interface WalletAccount {
  readonly accountId: string;
  readonly tier: RateTier;
  readonly accountTier: RateTier;
  readonly blockedReason: string | undefined;
  readonly requestLog?: RequestLogSettings | undefined;
}

/**
 * Returns the caller of a wallet that pays or signed in without an API key: all rights of its account but
 * the operator role, and the account's id in place of a key's.
 * @param account undefined before the first payment: the id then only identifies the wallet
 */
export function walletCaller(wallet: string, account: WalletAccount = unknownAccount(wallet)): Caller {
  return {
    keyId: account.accountId,
    accountId: account.accountId,
    scopes: new Set(SCOPES),
    tier: account.tier,
    accountTier: account.accountTier,
    operator: false,
    limits: undefined,
    budgeted: false,
    limitsVersion: 0,
    blockedReason: account.blockedReason,
    requestLog: account.requestLog,
  };
}

/** Derived from the wallet, so that the limits of the relay count its payments before it has an account. */
function unknownAccount(wallet: string): WalletAccount {
  return {
    accountId: idOf("acct", hash("sha256", `wallet:${wallet}`, "buffer").subarray(0, 16)),
    tier: DEFAULT_TIER,
    accountTier: DEFAULT_TIER,
    blockedReason: undefined,
  };
}

/** The bucket of signed requests in place of an API key's: the account has one for all of them together. */
export function signInKeyId(accountId: string): string {
  return idOf("key", hash("sha256", `sign-in:${accountId}`, "buffer").subarray(0, 16));
}
