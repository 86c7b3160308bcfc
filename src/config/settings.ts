import { z } from "zod";
import { SAMPLERS } from "../domain/core/span.ts";
import { serverSettings } from "./server-settings.ts";
import {
  cellDatabases,
  databaseUrl,
  httpUrl,
  integer,
  isArchiveUrl,
  list,
  pairs,
  url,
} from "./setting-types.ts";

/**
 * Environment settings and their defaults. `dev` supplies those without a default; `serve` requires
 * DATABASE_URL, SOLANA_RPC_URLS and TREASURY_OWNER. `npm run generate` writes the descriptions, which are
 * Markdown, and `unset`, where it says more than the default, into docs/reference/configuration.md.
 */
export const settings = {
  ...serverSettings,
  CELL: integer(0, 65_535, 0).describe(
    "number of this deployment among " +
      "[several behind one address](../explanation/scaling.md#cells); 0: the only one",
  ),
  CELL_DATABASE_URLS: cellDatabases().describe(
    "PostgreSQL of every cell, `1=postgresql://… 2=postgresql://…`, for " +
      "[`cells` and `fleet`](../guides/run-at-scale.md#cells)",
  ),
  DATABASE_URL: databaseUrl().meta({
    description:
      "PostgreSQL, `postgresql://…`; several servers: `postgresql://user@one,two:5433/db`; required " +
      "by `serve`",
    unset: "embedded in dev",
  }),
  DATABASE_DIRECT_URL: databaseUrl().meta({
    description: "the same database without a connection pooler: notifications, session locks and migrations",
    unset: "`DATABASE_URL`",
  }),
  DATABASE_READ_URL: databaseUrl().meta({
    description:
      "a standby for usage, statements, older pages of lists and audits; " +
      "[when it is used](../guides/run-at-scale.md#reads-on-a-standby)",
    unset: "`DATABASE_URL`",
  }),
  DATABASE_POOL: integer(2, 200, 12).describe("PostgreSQL connections per instance"),
  ARCHIVE_URL: z
    .string()
    .refine(isArchiveUrl, "must be file:///path of a folder, or s3://bucket/prefix")
    .optional()
    .describe(
      "folder or bucket of [archived months](../guides/run-at-scale.md#archive): `file:///path` or " +
        "`s3://bucket/prefix`",
    ),
  ARCHIVE_AFTER_MONTHS: integer(2, 1_200, 6).describe(
    "full months of runs and receipts that `archive` leaves in the database",
  ),
  AWS_ACCESS_KEY_ID: z.string().optional().describe("key of that bucket"),
  AWS_SECRET_ACCESS_KEY: z.string().optional().describe("secret of that key"),
  AWS_SESSION_TOKEN: z.string().optional().describe("session of that key, if it is temporary"),
  AWS_REGION: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, "must be the name of a region, such as eu-central-1")
    .default("us-east-1")
    .describe("region of the bucket"),
  AWS_ENDPOINT_URL: httpUrl
    .optional()
    .meta({ description: "address of an S3-compatible service", unset: "Amazon S3" }),
  DATA_DIR: z
    .string()
    .default(".toolgate")
    .describe("folder of dev for its database, chain, keys and dev.json"),
  SOLANA_RPC_URLS: list(httpUrl)
    .optional()
    .meta({
      description:
        "comma-separated Solana RPC endpoints that keep the treasury's history, tried in order; " +
        "required by `serve`; name two",
      unset: "the local chain in dev",
    }),
  TREASURY_OWNER: z
    .string()
    .optional()
    .meta({
      description:
        "wallet (base58) that owns the treasury's USDC token account; required by `serve`. " +
        "[To change it](#another-treasury)",
      unset: "created in dev",
    }),
  FEE_PAYER_KEYPAIR: z
    .string()
    .optional()
    .meta({
      description:
        "path of the key file (JSON array of 64 bytes) that pays the fees of gasless payments. Not " +
        "the treasury's key; keep little SOL on it",
      unset: "created in dev; unset: gasless is off",
    }),
  FEE_PAYER_SIGNER: url(["unix:", "https:"], "unix:///path of a socket or an https:// URL")
    .optional()
    .describe(
      "`unix:///path` or `https://…` of an [external signer](gasless.md#an-external-signer) of the " +
        "fee payer, instead of `FEE_PAYER_KEYPAIR`",
    ),
  FEE_PAYER_SIGNER_TOKEN: z.string().optional().describe("bearer token that the signer requires"),
  FEE_PAYER_SIGNER_CA: z.string().optional().meta({
    description: "path of PEM certificates that an `https://` signer is checked with",
    unset: "the public authorities",
  }),
  FEE_PAYER_SIGNER_TIMEOUT_MS: integer(100, 30_000, 2_000).describe("how long a signature may take"),
  GASLESS_DAILY_LAMPORTS: integer(0, Number.MAX_SAFE_INTEGER, 50_000_000).describe(
    "fees for gasless payments per UTC day, lamports; half of it is reserved for accounts that " +
      "have paid. One payment costs about 10,000",
  ),
  GASLESS_PER_ACCOUNT_HOURLY: integer(0, 1_000_000, 120).describe("gasless payments per account and hour"),
  GASLESS_FAILURES_HOURLY: integer(0, 1_000_000, 10).describe("failed gasless payments per account and hour"),
  GASLESS_MINIMUM_MICROUSD: integer(0, Number.MAX_SAFE_INTEGER, 1_000).describe(
    "lowest quote that may be paid gasless, micro-USD; set it to your cost",
  ),
  GASLESS_LOW_LAMPORTS: integer(0, Number.MAX_SAFE_INTEGER, 20_000_000).describe(
    "balance of the fee payer, lamports, below which the gateway warns",
  ),
  X402_V1: z
    .enum(["on", "off"])
    .default("off")
    .describe("`on`: 402 bodies also have the members of x402 v1 (`x402Version`, `error`, `accepts`)"),
  X402_KEYLESS: z.enum(["on", "off"]).optional().meta({
    description: "`off`: wallets cannot buy calls [without an API key](x402.md#without-an-api-key)",
    unset: "`on` with a fee payer",
  }),
  FACILITATOR: z
    .enum(["on", "off"])
    .default("off")
    .describe(
      "`on`: the operator's other services settle x402 payments here ([facilitator](x402.md#facilitator))",
    ),
  QUOTE_TTL_SECONDS: integer(10, 3600, 300).describe("lifetime of a quote (10 to 3600)"),
  MEMO_PREFIX: z
    .string()
    .regex(/^[a-z0-9_-]{1,16}$/, "must be 1 to 16 characters of a-z, 0-9, _ and -")
    .default("svc")
    .describe("prefix of the short memo form, `<prefix>:<quote_id>`"),
  PAYMENT_WAIT_MS: integer(0, 60_000, 10_000).describe(
    "how long a call waits for its transaction on the chain",
  ),
  FINALIZED_ABOVE_MICROUSD: integer(0, Number.MAX_SAFE_INTEGER, 50_000_000).describe(
    "from this amount a payment must be finalized and reported by a second endpoint if there is one",
  ),
  TOOLGATE_CONFIG: z
    .string()
    .optional()
    .describe("JSON or YAML [file](#the-file) with prices, inference, sandbox, tiers and custom tools"),
  TOOLGATE_CONFIG_APPLY: z
    .enum(["auto", "always", "never"])
    .default("auto")
    .describe("whether a start [applies](#versions) that file to all instances: `auto`, `always` or `never`"),
  CONFIG_POLL_MS: integer(100, 600_000, 10_000).describe(
    "how often an instance queries the [configuration in force](#versions)",
  ),
  CONTROL_SOCKET: z
    .string()
    .optional()
    .describe("socket through which [`config reload`](#reload) reaches `serve` on this machine"),
  OPERATOR_LOG: z
    .string()
    .optional()
    .describe(
      "file to which `serve` and commands append every operator action and revoked key, for " +
        "[`after-restore`](../guides/run-at-scale.md#backup)",
    ),
  INFERENCE_BASE_URL: httpUrl.optional().meta({
    description: "OpenAI-compatible server for `inference_chat`, with its `/v1`",
    unset: "none; a stand-in in dev",
  }),
  INFERENCE_API_KEY: z.string().optional().describe("its key"),
  TOOL_ENV_PREFIX: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,38}_$/, "must be capital letters, digits and _, and end with _")
    .default("TOOL_")
    .describe("prefix of variables that the [file](#the-file) may name"),
  SANDBOX_ISOLATION: z
    .enum(["auto", "required", "process", "off"])
    .optional()
    .meta({
      description:
        "isolation of code: `auto`, `required`, `process` or `off` " +
        "([sandbox](../guides/sandbox.md#settings))",
      unset: "`auto` in dev; else `required`, but without bubblewrap the tool is only listed",
    }),
  WATCH_INTERVAL_MS: integer(100, 600_000, 2_500).describe(
    "interval of the treasury watcher (100 to 600000); other checks scale with it",
  ),
  AUDIT_INTERVAL_SECONDS: integer(0, 31_536_000, 3_600).describe("interval of the ledger audit; `0`: never"),
  RUN_LEASE_MS: integer(1000, 600_000, 15_000).describe(
    "time without a heartbeat after which another instance releases a run; four times longer if " +
      "the owner is still connected",
  ),
  WEBHOOK_NETWORK: z
    .enum(["public", "any"])
    .default("public")
    .meta({
      description:
        "where [webhooks](../guides/webhooks.md#delivery) are sent: `public`: https:// and public " +
        "addresses; `any`: also http:// and private networks",
      unset: "`public`; `any` in dev",
    }),
  DRAIN_MS: integer(0, 600_000, 5_000).describe(
    "how long a stopping instance that is not ready still accepts calls; 0 in dev",
  ),
  SHUTDOWN_GRACE_MS: integer(0, 600_000, 30_000).describe(
    "how long a shutdown waits for running calls before it aborts them",
  ),
  BODY_LIMIT_BYTES: integer(1024, 64 * 1024 * 1024, 1024 * 1024).describe("largest request body"),
  TRUSTED_PROXY_HOPS: integer(0, 10, 0).describe(
    "number of [proxies](#behind-proxies) that append to `X-Forwarded-For` (gRPC: `x-forwarded-for`)",
  ),
  NEW_ACCOUNTS_PER_DAY: integer(1, 1_000_000, 20).meta({
    description:
      "accounts a day by sign-ins of an address (IPv6: /64), per instance; 8-fold of its /24 (/48)",
    unset: "`20`; `1000000` in dev",
  }),
  CORS_ORIGINS: list(z.string()).optional().describe("comma-separated origins whose pages may call"),
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .describe(
      "`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`; JSON lines on stderr, text " +
        "on a terminal",
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe("collector of [traces](../guides/tracing.md) (OTLP over HTTP), without `/v1/traces`"),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(["http/json", "http/protobuf"])
    .default("http/json")
    .describe("encoding of traces: `http/json` or `http/protobuf`"),
  OTEL_SDK_DISABLED: z
    .stringbool({ truthy: ["true"], falsy: ["false"] })
    .default(false)
    .describe("`true`: nothing is traced"),
  OTEL_EXPORTER_OTLP_HEADERS: pairs().describe("headers for the collector, `name=value,…`, percent-encoded"),
  OTEL_EXPORTER_OTLP_TIMEOUT: integer(1, 60_000, 10_000).describe(
    "how long one export may take with its retries, ms; then its spans are lost",
  ),
  OTEL_BSP_SCHEDULE_DELAY: integer(1, 60_000, 500).describe("how long spans wait for others, ms"),
  OTEL_BSP_EXPORT_TIMEOUT: integer(1, 600_000, 30_000).describe("how long a batch waits for the last, ms"),
  OTEL_BSP_MAX_QUEUE_SIZE: integer(1, 65_536, 2_048).describe("spans that may wait; more are lost"),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: integer(1, 4_096, 64).describe("spans of one export; many delay calls"),
  OTEL_SERVICE_NAME: z.string().min(1).optional().describe("`service.name` of traces; `toolgate` by default"),
  OTEL_RESOURCE_ATTRIBUTES: pairs().describe("more attributes of this process, `name=value,…`"),
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLERS)
    .default("parentbased_always_on")
    .describe(
      "which requests are traced: `always_on`, `always_off`, `traceidratio`, or `parentbased_` and " +
        "one of them",
    ),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(?:0?\.\d+|[01](?:\.0*)?)$/, "must be a number from 0 to 1")
    .transform(Number)
    .default(1)
    .describe("share of the traces for `traceidratio`, 0 to 1"),
  LOG_FREE_REQUESTS: integer(0, 1_000_000, 100).describe(
    "one of so many successful requests without a run is [logged](../guides/operations.md#logs); " +
      "1: all, 0: none",
  ),
} as const;

/** Settings printed as `***` because they are or may contain secrets. */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set([
  "CELL_DATABASE_URLS",
  "DATABASE_URL",
  "DATABASE_DIRECT_URL",
  "DATABASE_READ_URL",
  "SOLANA_RPC_URLS",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "INFERENCE_API_KEY",
  "FEE_PAYER_SIGNER_TOKEN",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OAUTH_CLIENTS",
]);

/** Settings that a running instance can change. Variables that documents refer to change with them. */
export const RELOADED_SETTINGS: ReadonlySet<string> = new Set([
  "LOG_LEVEL",
  "TOOLGATE_CONFIG",
  "TOOLGATE_CONFIG_APPLY",
  "INFERENCE_BASE_URL",
  "INFERENCE_API_KEY",
  "TOOL_ENV_PREFIX",
]);

export const settingsSchema = z.object(settings);

export type Settings = z.output<typeof settingsSchema>;
