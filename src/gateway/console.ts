import type { CallToolDeps } from "../app/calls/call-tool.ts";
import { OwnRecords } from "../app/calls/own-records.ts";
import type { RequestRecorder } from "../app/operations/request-record.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import { SignIn } from "../app/accounts/sign-in.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import { lazySignInForms, type SolanaChain } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import { connectHandler } from "../transport/connect/connect-handler.ts";
import {
  ConsoleHandler,
  RPC_PATH,
  type ConsoleHandlerOptions,
} from "../transport/console-server/console-handler.ts";
import { ConsoleOrigin } from "../transport/console-server/console-origin.ts";
import { SessionAuthenticator } from "../transport/console-server/session-authenticator.ts";
import { ExportHandler } from "../transport/exports/export-handler.ts";
import { receiptsFile, runsFile } from "../transport/exports/history-files.ts";
import { statementFile } from "../transport/exports/statement-file.ts";
import { Pipeline } from "../transport/pipeline.ts";
import type { RequestIds } from "../transport/request-ids.ts";
import { balanceService } from "../transport/services/accounts/balance-service.ts";
import { consoleKeyService } from "../transport/services/accounts/console-key-service.ts";
import { historyService } from "../transport/services/calls/history-service.ts";
import { requestLogService } from "../transport/services/calls/request-log-service.ts";
import type { ServiceBinding } from "../transport/services/service-impl.ts";
import { sessionService } from "../transport/services/accounts/session-service.ts";
import { VERSION } from "../version.ts";
import { openConsoleFiles, type DevConsole } from "./console-files.ts";
import { createDepositService } from "./deposits.ts";
import type { Addresses } from "./servers.ts";
import { keyRulesOf } from "./key-rules.ts";
import { createWebhookService } from "./webhooks.ts";

/** Dependencies of the console. */
export interface ConsoleOptions {
  readonly config: ServeConfig;
  readonly postgres: Postgres;
  readonly deps: CallToolDeps;
  readonly gasless: boolean;
  readonly chain: SolanaChain;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly errors: Log;
  /** Available after the servers listen. */
  readonly addresses: () => Addresses;
  readonly requests: RequestRecorder;
  /** The operator's services, which operators' sessions may call too. */
  readonly operators: readonly ServiceBinding[];
  readonly requestIds: RequestIds;
  readonly failed: ConsoleHandlerOptions["failed"];
  /** Undefined in production. */
  readonly devConsole: DevConsole | undefined;
}

/** The console's HTTP handler. */
export interface Console {
  readonly handler: ConsoleHandler;
  /** Resolves when no request is running. */
  idle(): Promise<void>;
}

/** Creates the session services and the handler that serves them. */
export function createConsole(options: ConsoleOptions): Console {
  const { config, postgres, log, errors, addresses, operators, requestIds, failed, devConsole, requests } =
    options;
  const origin = new ConsoleOrigin({
    host: config.HOST,
    publicUrl: config.CONSOLE_URL ?? config.PUBLIC_URL,
    url: () => addresses().consoleUrl,
  });
  const authenticator = new SessionAuthenticator({
    sessions: postgres.sessions,
    origin,
    clock: systemClock,
    trustedProxies: config.TRUSTED_PROXY_HOPS,
  });
  const bindings = [sessionsOf(options, origin), ...servicesOf(options), ...operators];
  const pipeline = new Pipeline(authenticator, bindings, errors, requests);
  const rpc = connectHandler({
    pipeline,
    services: bindings.map(({ service }) => service),
    requestIds,
    bodyLimit: config.BODY_LIMIT_BYTES,
    transport: "console",
    pathPrefix: RPC_PATH,
  });
  const files = openConsoleFiles({ config, origin, devConsole, log });
  const { statements, receipts, runs, history } = postgres.accountQueries;
  const exported = [statementFile(statements), receiptsFile(receipts, history), runsFile(runs, history)];
  const exports = new ExportHandler({ authenticator, files: exported, requestIds, failed });
  return {
    handler: new ConsoleHandler({ rpc, exports, files, origin, requestIds, failed }),
    idle: async () => void (await Promise.all([pipeline.idle(), exports.idle()])),
  };
}

function sessionsOf(
  { postgres, gasless, chain, addresses }: ConsoleOptions,
  origin: ConsoleOrigin,
): ServiceBinding {
  const { tokenAccount: payTo, owner: treasuryOwner, mint: usdcMint } = chain.treasury;
  const { signInChallenges: challenges, sessions, accounts } = postgres;
  const signIn = new SignIn({
    challenges,
    sessions,
    accounts,
    forms: lazySignInForms,
    clock: systemClock,
    random: systemRandom,
    origin: () => ({ domain: origin.url.host, uri: origin.url.href }),
  });
  const installation = () => {
    const { baseUrl, grpcAddress } = addresses();
    return { baseUrl, version: VERSION, treasuryOwner, payTo, usdcMint, gasless, grpcAddress };
  };
  return sessionService({ signIn, sessions, origin, clock: systemClock, installation });
}

/** Services for every signed-in account. */
function servicesOf({ config, postgres, deps, chain, metrics, log }: ConsoleOptions): ServiceBinding[] {
  return [
    consoleKeyService(postgres, keyRulesOf(deps)),
    balanceService(postgres.accountQueries),
    historyService({
      ...postgres.accountQueries,
      ownRecords: new OwnRecords(postgres.accountQueries.ownRecords, deps.quotes),
    }),
    requestLogService(postgres.requestLog),
    createWebhookService({ config, postgres, log }),
    createDepositService({ config, postgres, chain, quotes: deps.quotes, metrics, log }),
  ];
}
