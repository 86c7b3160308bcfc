import { z } from "zod";
import { serverUrls } from "../domain/core/database-url.ts";
import { SAMPLERS } from "../domain/core/span.ts";

const between = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, `must be between ${minimum} and ${maximum}`);

const integer = (minimum: number, maximum: number, fallback: number) =>
  between(minimum, maximum).default(fallback);

const url = (protocols: readonly string[], what: string) =>
  z.string().refine((text) => {
    const parsed = URL.parse(text);
    return parsed !== null && protocols.includes(parsed.protocol);
  }, `must be ${what}`);

const httpUrl = url(["http:", "https:"], "an http:// or https:// URL");

function isArchiveUrl(text: string): boolean {
  const parsed = URL.parse(text);
  if (parsed === null || parsed.search !== "" || parsed.hash !== "" || parsed.username !== "") return false;
  return parsed.protocol === "file:"
    ? parsed.host === "" && parsed.pathname.length > 1
    : parsed.protocol === "s3:" && parsed.host !== "";
}

const databaseUrl = () =>
  z
    .string()
    .refine(
      (text) => serverUrls(text) !== undefined,
      "must be a postgresql:// URL; several servers are separated by commas, and only " +
        "target_session_attrs=read-write or primary is possible",
    )
    .optional();

/** `number=URL` pairs, separated by white space because a URL may list several servers by commas. */
const cellDatabases = () =>
  z
    .string()
    .transform((text, context) => {
      const urls = new Map<number, string>();
      const refuse = (message: string) => context.addIssue({ code: "custom", message });
      for (const part of text.split(/\s+/).filter((one) => one !== "")) {
        const [, number = "", address = ""] = /^(\d{1,5})=(.*)$/.exec(part) ?? [];
        const cell = Number(number);
        if (cell < 1 || cell > 65_535 || serverUrls(address) === undefined)
          refuse("must be pairs such as 1=postgresql://…, separated by spaces or lines, of cells 1 to 65535");
        else if (urls.has(cell)) refuse(`names cell ${cell} twice`);
        else if ([...urls.values()].includes(address))
          refuse(`has the same database for cell ${cell} and another`);
        else urls.set(cell, address);
      }
      return urls;
    })
    .optional();

const list = (item: z.ZodType<string, string>) =>
  z
    .string()
    .transform((text) =>
      text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== ""),
    )
    .pipe(z.array(item));

/** `name=value` pairs, percent-encoded, as OpenTelemetry's variables have them. */
const pairs = () =>
  z
    .string()
    .transform((text, context) => {
      const found = new Map<string, string>();
      for (const part of text.split(",").filter((one) => one.trim() !== "")) {
        const [, name = "", value = ""] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
        try {
          if (name === "") throw new TypeError("has no name");
          found.set(decodeURIComponent(name), decodeURIComponent(value));
        } catch {
          context.addIssue({ code: "custom", message: "must be name=value pairs, separated by commas" });
        }
      }
      return Object.fromEntries(found);
    })
    .optional();

/**
 * Environment settings and their defaults, the source of `docs/reference/configuration.md`. `dev` supplies
 * those without a default; `serve` requires DATABASE_URL, SOLANA_RPC_URLS and TREASURY_OWNER.
 */
export const settings = {
  HOST: z.string().default("0.0.0.0").describe("address the servers listen on"),
  PORT: integer(0, 65535, 8080).describe("port of HTTP/JSON, MCP, Connect and gRPC-Web; 0 picks a free one"),
  GRPC_PORT: integer(0, 65535, 9090).describe("port of gRPC; 0 picks a free one"),
  METRICS_PORT: between(0, 65535)
    .optional()
    .describe(
      "port of GET /metrics for Prometheus, without authentication; 0 picks a free one; none by default",
    ),
  METRICS_HOST: z.string().default("127.0.0.1").describe("address that the metrics server listens on"),
  PUBLIC_URL: httpUrl.optional().describe("base address as callers see it; default http://HOST:PORT"),
  CONSOLE_URL: httpUrl.optional().describe("address of the console; default PUBLIC_URL/console"),
  CONSOLE_PUBLIC_TOOLS: z
    .enum(["on", "off"])
    .default("off")
    .describe("whether the console shows the tools and their prices without a sign-in"),
  CELL: integer(0, 65_535, 0).describe(
    "number of this deployment among several behind one address; 0: the only one",
  ),
  CELL_DATABASE_URLS: cellDatabases().describe(
    "PostgreSQL of every cell, 1=postgresql://… 2=postgresql://…, for `cells` and `fleet`",
  ),
  DATABASE_URL: databaseUrl().describe("PostgreSQL, one server or several with one primary; embedded in dev"),
  DATABASE_DIRECT_URL: databaseUrl().describe(
    "the same database without a connection pooler, for notifications, session locks and migrations; " +
      "default DATABASE_URL",
  ),
  DATABASE_READ_URL: databaseUrl().describe(
    "a standby for long reads (usage, statements, further pages of lists, audits); default DATABASE_URL",
  ),
  DATABASE_POOL: integer(2, 200, 12).describe("PostgreSQL connections per instance"),
  ARCHIVE_URL: z
    .string()
    .refine(isArchiveUrl, "must be file:///path of a folder, or s3://bucket/prefix")
    .optional()
    .describe("folder or bucket of archived months: file:///path or s3://bucket/prefix; none by default"),
  ARCHIVE_AFTER_MONTHS: integer(2, 1_200, 6).describe(
    "full months of runs and receipts that `archive` leaves in the database",
  ),
  AWS_ACCESS_KEY_ID: z.string().optional().describe("key of a bucket in ARCHIVE_URL"),
  AWS_SECRET_ACCESS_KEY: z.string().optional().describe("secret of that key"),
  AWS_SESSION_TOKEN: z.string().optional().describe("session of that key, if it is temporary"),
  AWS_REGION: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, "must be the name of a region, such as eu-central-1")
    .default("us-east-1")
    .describe("region of the bucket"),
  AWS_ENDPOINT_URL: httpUrl
    .optional()
    .describe("address of an S3-compatible service; default: Amazon S3 in AWS_REGION"),
  DATA_DIR: z.string().default(".toolgate").describe("folder of dev's database, chain, keys and dev.json"),
  SOLANA_RPC_URLS: list(httpUrl)
    .optional()
    .describe("comma-separated Solana RPC endpoints, tried in order; the local chain in dev"),
  TREASURY_OWNER: z
    .string()
    .optional()
    .describe("wallet (base58) that owns the treasury's USDC token account; created in dev"),
  FEE_PAYER_KEYPAIR: z
    .string()
    .optional()
    .describe(
      "key file (JSON array of 64 bytes) of the gasless relay's fee payer; created in dev; unset: off",
    ),
  FEE_PAYER_SIGNER: url(["unix:", "https:"], "unix:///path of a socket or an https:// URL")
    .optional()
    .describe("external signer of the fee payer, instead of FEE_PAYER_KEYPAIR"),
  FEE_PAYER_SIGNER_TOKEN: z.string().optional().describe("bearer token that the signer requires"),
  FEE_PAYER_SIGNER_CA: z
    .string()
    .optional()
    .describe("path of the PEM certificates that an https:// signer is checked with, instead of public ones"),
  FEE_PAYER_SIGNER_TIMEOUT_MS: integer(100, 30_000, 2_000).describe("how long a signature may take"),
  GASLESS_DAILY_LAMPORTS: integer(0, Number.MAX_SAFE_INTEGER, 50_000_000).describe(
    "relay fees per UTC day, lamports; a relayed payment costs about 10,000",
  ),
  GASLESS_PER_ACCOUNT_HOURLY: integer(0, 1_000_000, 120).describe("relayed payments per account and hour"),
  GASLESS_FAILURES_HOURLY: integer(0, 1_000_000, 10).describe(
    "failed relayed payments per account and hour before it must wait",
  ),
  GASLESS_MINIMUM_MICROUSD: integer(0, Number.MAX_SAFE_INTEGER, 1_000).describe(
    "cheapest quote the relay accepts, micro-USD; at least the fee of a payment",
  ),
  GASLESS_LOW_LAMPORTS: integer(0, Number.MAX_SAFE_INTEGER, 20_000_000).describe(
    "fee payer balance below which a warning is logged, lamports",
  ),
  X402_V1: z
    .enum(["on", "off"])
    .default("off")
    .describe("whether 402 bodies also carry the members of x402 v1 (x402Version, error, accepts)"),
  X402_KEYLESS: z
    .enum(["on", "off"])
    .optional()
    .describe("whether wallets buy calls without an API key; default: on with a fee payer, off without"),
  QUOTE_TTL_SECONDS: integer(10, 3600, 300).describe("lifetime of a quote"),
  MEMO_PREFIX: z
    .string()
    .regex(/^[a-z0-9_-]{1,16}$/, "must be 1 to 16 characters of a-z, 0-9, _ and -")
    .default("svc")
    .describe("prefix of the short memo form, <prefix>:<quote_id>"),
  PAYMENT_WAIT_MS: integer(0, 60_000, 10_000).describe(
    "how long a call waits for its transaction to appear on the chain",
  ),
  FINALIZED_ABOVE_MICROUSD: integer(0, Number.MAX_SAFE_INTEGER, 50_000_000).describe(
    "payments of at least this amount must be finalized, not only confirmed",
  ),
  TOOLGATE_CONFIG: z
    .string()
    .optional()
    .describe("JSON or YAML file with prices, inference (models and upstreams), sandbox, and custom tools"),
  TOOLGATE_CONFIG_APPLY: z
    .enum(["auto", "always", "never"])
    .default("auto")
    .describe(
      "whether a start applies that file to all instances: unless an operator applied the version in force " +
        "(auto), always, or never",
    ),
  CONFIG_POLL_MS: integer(100, 600_000, 10_000).describe(
    "how often an instance queries the configuration in force although notifications announce it",
  ),
  CONTROL_SOCKET: z
    .string()
    .optional()
    .describe("socket through which `config reload` reaches serve on this machine; none by default"),
  OPERATOR_LOG: z
    .string()
    .optional()
    .describe("file to which every operator action and revoked key is appended, for `after-restore`"),
  INFERENCE_BASE_URL: httpUrl
    .optional()
    .describe("OpenAI-compatible server for inference_chat, including /v1; a local fake in dev"),
  INFERENCE_API_KEY: z.string().optional().describe("its key"),
  SANDBOX_ISOLATION: z
    .enum(["auto", "required", "process", "off"])
    .optional()
    .describe("bubblewrap if installed (auto), always (required), never (process); off: no sandbox"),
  WATCH_INTERVAL_MS: integer(100, 600_000, 2_500).describe(
    "interval of the treasury watch; checks of payments and balances follow it",
  ),
  AUDIT_INTERVAL_SECONDS: integer(0, 31_536_000, 3_600).describe("interval of ledger audits; 0: never"),
  RUN_LEASE_MS: integer(1000, 600_000, 15_000).describe(
    "how long a run may go without a heartbeat before another instance releases it",
  ),
  WEBHOOK_NETWORK: z
    .enum(["public", "any"])
    .default("public")
    .describe(
      "where webhooks are sent: https:// and public addresses, or also http:// and private networks " +
        "(any, as in dev)",
    ),
  DRAIN_MS: integer(0, 600_000, 5_000).describe(
    "how long a stopping instance still accepts calls while the load balancer sees it as not ready; 0 in dev",
  ),
  SHUTDOWN_GRACE_MS: integer(0, 600_000, 30_000).describe(
    "how long a shutdown waits for running calls before it aborts them",
  ),
  BODY_LIMIT_BYTES: integer(1024, 64 * 1024 * 1024, 1024 * 1024).describe("largest request body"),
  TRUSTED_PROXY_HOPS: integer(0, 10, 0).describe("number of proxies in front that append to X-Forwarded-For"),
  CORS_ORIGINS: list(z.string())
    .optional()
    .describe("comma-separated origins allowed by CORS; none by default"),
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .describe("log level; JSON lines on stderr"),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe("collector of traces (OTLP over HTTP), without /v1/traces; none by default"),
  OTEL_EXPORTER_OTLP_HEADERS: pairs().describe("headers for the collector, such as its key"),
  OTEL_EXPORTER_OTLP_TIMEOUT: integer(1, 60_000, 10_000).describe(
    "how long one export may take with its retries, ms; then its spans are lost",
  ),
  OTEL_SERVICE_NAME: z.string().min(1).optional().describe("service.name of traces; default toolgate"),
  OTEL_RESOURCE_ATTRIBUTES: pairs().describe("more attributes of this process in traces"),
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLERS)
    .default("parentbased_always_on")
    .describe("which requests are traced; parentbased_: as the caller decided, if it sends a trace"),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(?:0?\.\d+|[01](?:\.0*)?)$/, "must be a number from 0 to 1")
    .transform(Number)
    .default(1)
    .describe("share of the traces for traceidratio, 0 to 1"),
  LOG_FREE_REQUESTS: integer(0, 1_000_000, 100).describe(
    "one of so many successful requests without a run is logged; 1: all, 0: none",
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
]);

/** Settings that a running instance can change. Variables that documents refer to change with them. */
export const RELOADED_SETTINGS: ReadonlySet<string> = new Set([
  "LOG_LEVEL",
  "TOOLGATE_CONFIG",
  "TOOLGATE_CONFIG_APPLY",
  "INFERENCE_BASE_URL",
  "INFERENCE_API_KEY",
]);

export const settingsSchema = z.object(settings);

export type Settings = z.output<typeof settingsSchema>;
