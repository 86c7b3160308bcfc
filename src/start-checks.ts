import type { ServeConfig } from "./config/config.ts";
import { checkFeePayer } from "./gateway/relay.ts";
import { customToolProblems } from "./gateway/custom-tools.ts";
import { checkSandbox } from "./gateway/sandbox.ts";
import type { Log } from "./domain/core/log.ts";
import { checkDatabase, checkSameDatabase, type Findings } from "./postgres/database/start-checks.ts";
import { adviseOnEndpoints, checkChain, openChain } from "./solana/index.ts";
import { systemClock } from "./system.ts";

/** Time limit for the RPC endpoints, ms. */
const LIMIT_MS = 15_000;

/** Warns when a proxy must be in front, because the gateway speaks no TLS, and is not trusted. */
function adviseOnProxies({ PUBLIC_URL, TRUSTED_PROXY_HOPS }: ServeConfig): string[] {
  if (TRUSTED_PROXY_HOPS > 0 || !PUBLIC_URL?.startsWith("https:")) return [];
  return [
    "TRUSTED_PROXY_HOPS: is 0, but PUBLIC_URL is https, so a proxy is in front: all callers share its " +
      "address and its limits; set the number of proxies",
  ];
}

/**
 * Checks the preconditions of `serve`: database reachable, durable and migrated; RPC endpoints on mainnet;
 * treasury account present; fee payer funded; custom tools readable; sandbox isolated.
 * @returns problems, each with what to do, and warnings; without problems `serve` may start
 */
export async function checkPreconditions(config: ServeConfig, log: Log): Promise<Findings> {
  const chain = openChain({
    urls: config.SOLANA_RPC_URLS,
    treasuryOwner: config.TREASURY_OWNER,
    memoPrefix: config.MEMO_PREFIX,
    waitMs: 0,
    finalizedAbove: 0n,
    clock: systemClock,
    log,
  });
  const { DATABASE_URL, DATABASE_DIRECT_URL = DATABASE_URL, DATABASE_READ_URL = DATABASE_URL } = config;
  const [database, direct, read, endpoints, feePayer, tools, sandbox] = await Promise.all([
    checkDatabase(DATABASE_URL, systemClock),
    DATABASE_DIRECT_URL === DATABASE_URL ? undefined : checkSameDatabase(DATABASE_URL, DATABASE_DIRECT_URL),
    DATABASE_READ_URL === DATABASE_URL ? undefined : checkSameDatabase(DATABASE_URL, DATABASE_READ_URL),
    checkChain(chain.rpc, chain.treasury, AbortSignal.timeout(LIMIT_MS)),
    checkFeePayer(config, chain.rpc, AbortSignal.timeout(LIMIT_MS)),
    customToolProblems(config, log),
    checkSandbox(config, log),
  ]);
  return {
    problems: [
      ...database.problems.map((problem) => `DATABASE_URL: ${problem}`),
      ...(direct === undefined ? [] : [`DATABASE_DIRECT_URL: ${direct}`]),
      ...(read === undefined ? [] : [`DATABASE_READ_URL: ${read}`]),
      ...endpoints.map(({ endpoint, problem }) => `SOLANA_RPC_URLS: ${endpoint} ${problem}`),
      ...feePayer.problems,
      ...tools,
      ...sandbox.problems,
    ],
    warnings: [
      ...database.warnings.map((warning) => `DATABASE_URL: ${warning}`),
      ...adviseOnEndpoints(chain.rpc).map((warning) => `SOLANA_RPC_URLS: ${warning}`),
      ...adviseOnProxies(config),
      ...feePayer.warnings,
      ...sandbox.warnings,
    ],
  };
}
