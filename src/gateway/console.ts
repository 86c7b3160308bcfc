import { AccountDeposits } from "../app/deposits/account-deposits.ts";
import { DepositTracker, newEffectCache } from "../app/deposits/deposit-tracker.ts";
import { newSettledTransactions, recordTransaction } from "../app/jobs/record-history.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Quotes } from "../domain/payments/quote.ts";
import type { Log } from "../domain/core/log.ts";
import { signedPaymentReader } from "../payments/wallet/signed-payment.ts";
import type { Postgres } from "../postgres/index.ts";
import { lazyWalletPayments, SolanaDeposits, SolanaTreasury, lazySignInForms } from "../solana/index.ts";
import type { SolanaChain } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import { depositService } from "../transport/services/deposits/deposit-service.ts";
import type { ServiceBinding } from "../transport/endpoint.ts";
import type { CallToolDeps } from "../app/calls/call-tool.ts";
import { OwnRecords } from "../app/calls/history.ts";
import { SignIn } from "../app/accounts/sign-in.ts";
import { connectHandler } from "../transport/connect/connect-handler.ts";
import { ConsoleHandler, RPC_PATH } from "../transport/console-server/console-handler.ts";
import type { ConsoleHandlerOptions } from "../transport/console-server/console-handler.ts";
import { ConsoleOrigin } from "../transport/console-server/console-origin.ts";
import { SessionAuthenticator } from "../transport/console-server/session-authenticator.ts";
import { SignInLimits } from "../transport/console-server/sign-in-limits.ts";
import { ExportHandler } from "../transport/exports/export-handler.ts";
import { receiptsFile, runsFile } from "../transport/exports/history-files.ts";
import { statementFile } from "../transport/exports/statement-file.ts";
import type { ClientAddresses } from "../transport/remote-address.ts";
import { Pipeline, type PipelineParts } from "../transport/pipeline.ts";
import type { RequestIds } from "../transport/request-ids.ts";
import { balanceService } from "../transport/services/accounts/balance-service.ts";
import { consoleKeyService } from "../transport/services/accounts/console-key-service.ts";
import { historyService } from "../transport/services/calls/history-service.ts";
import { requestLogService } from "../transport/services/calls/request-log-service.ts";
import { sessionService } from "../transport/services/accounts/session-service.ts";
import { VERSION } from "../version.ts";
import { localRpcUrl, openConsoleFiles, type DevConsole } from "./console-files.ts";
import type { Addresses } from "./listen.ts";
import { keyRulesOf } from "./services.ts";

interface DepositParts {
  readonly config: Pick<ServeConfig, "CELL" | "MEMO_PREFIX" | "FINALIZED_ABOVE_MICROUSD">;
  readonly postgres: Pick<Postgres, "clock" | "deposits" | "treasuryLedger" | "walletAccounts">;
  readonly chain: Pick<SolanaChain, "rpc" | "treasury">;
  readonly quotes: Quotes;
  readonly metrics: Metrics;
  readonly log: Log;
}

export function createDepositService(parts: DepositParts): ServiceBinding {
  const { config, postgres, chain, quotes, metrics, log } = parts;
  const { rpc, treasury } = chain;
  const memoPrefix = config.MEMO_PREFIX;
  const evidence = { rpc, treasury, memoPrefix };
  const finalizedAbove = BigInt(config.FINALIZED_ABOVE_MICROUSD);
  const { deposits, treasuryLedger: ledger, walletAccounts: wallets } = postgres;
  // The same code path as the treasury watch, so a movement is recorded once.
  const recording = {
    chain: new SolanaTreasury({ ...evidence, finalizedAbove, log }),
    ledger,
    quotes,
    deposits,
    wallets,
    memoPrefix,
    settled: newSettledTransactions(),
    cell: config.CELL,
    metrics,
    log,
  };
  const tracker = new DepositTracker({
    chain: new SolanaDeposits(evidence),
    deposits,
    record: (txSignature, signal) => recordTransaction(recording, txSignature, signal),
    effects: newEffectCache(),
    memoPrefix,
    clock: systemClock,
  });
  const accountDeposits = new AccountDeposits({
    deposits,
    tracker,
    payments: lazyWalletPayments(rpc, treasury),
    readSigned: signedPaymentReader({ payTo: treasury.tokenAccount, memoPrefix }),
    quotes,
    memoPrefix,
    clock: postgres.clock,
    random: systemRandom,
    cell: config.CELL,
  });
  return depositService({ deposits: accountDeposits, treasury, memoPrefix });
}

interface ConsoleOptions {
  readonly config: ServeConfig;
  readonly postgres: Postgres;
  readonly deps: CallToolDeps;
  readonly gasless: boolean;
  readonly chain: SolanaChain;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Available after the servers listen. */
  readonly addresses: () => Addresses;
  readonly pipelineParts: PipelineParts;
  readonly clients: ClientAddresses;
  /** The same as for API keys: they share its limit. */
  readonly webhooks: ServiceBinding;
  /** The operator's services, which operators' sessions may call too. */
  readonly operators: readonly ServiceBinding[];
  readonly requestIds: RequestIds;
  readonly failed: ConsoleHandlerOptions["failed"];
  /** Undefined in production. */
  readonly devConsole: DevConsole | undefined;
}

interface Console {
  readonly handler: ConsoleHandler;
  readonly authenticator: SessionAuthenticator;
  /** Resolves when no request is running. */
  idle(): Promise<void>;
}

/** Creates the session services and the handler that serves them. */
export function createConsole(options: ConsoleOptions): Console {
  const { config, postgres, log, addresses, operators, requestIds, failed, devConsole } = options;
  const origin = new ConsoleOrigin({
    host: config.HOST,
    publicUrl: config.CONSOLE_URL ?? config.PUBLIC_URL,
    url: () => addresses().consoleUrl,
  });
  const authenticator = new SessionAuthenticator({
    sessions: postgres.sessions,
    origin,
    clock: systemClock,
    clients: options.clients,
  });
  const bindings = [sessionsOf(options, origin), ...servicesOf(options), ...operators];
  const pipeline = new Pipeline(authenticator, bindings, options.pipelineParts);
  const rpc = connectHandler({
    pipeline,
    services: bindings.map(({ service }) => service),
    requestIds,
    bodyLimit: config.BODY_LIMIT_BYTES,
    transport: "console",
    pathPrefix: RPC_PATH,
  });
  const { requests, time } = options.pipelineParts;
  const files = openConsoleFiles({ config, origin, devConsole, log });
  const { statements, receipts, runs, history } = postgres.accountQueries;
  const exported = [statementFile(statements), receiptsFile(receipts, history), runsFile(runs, history)];
  const exports = new ExportHandler({ authenticator, files: exported, requestIds, failed });
  return {
    authenticator,
    handler: new ConsoleHandler({ rpc, exports, files, requests, time, origin, requestIds, failed }),
    idle: async () => void (await Promise.all([pipeline.idle(), exports.idle()])),
  };
}

function sessionsOf(
  { config, postgres, gasless, chain, addresses, devConsole }: ConsoleOptions,
  origin: ConsoleOrigin,
): ServiceBinding {
  const rpcUrl = localRpcUrl(config, devConsole);
  const { tokenAccount: payTo, owner: treasuryOwner, mint: usdcMint } = chain.treasury;
  const { signInChallenges: challenges, sessions, accounts, walletAccounts: wallets } = postgres;
  const signIn = new SignIn({
    challenges,
    sessions,
    accounts,
    wallets,
    forms: lazySignInForms,
    clock: systemClock,
    random: systemRandom,
    origin: () => ({ domain: origin.url.host, uri: origin.url.href }),
  });
  const installation = () => {
    const { baseUrl, grpcAddress } = addresses();
    const fixed = { version: VERSION, treasuryOwner, payTo, usdcMint, gasless };
    return { baseUrl, grpcAddress, ...fixed, ...(rpcUrl !== undefined && { rpcUrl }) };
  };
  const limits = new SignInLimits(systemClock, config.NEW_ACCOUNTS_PER_DAY);
  return sessionService({ signIn, sessions, origin, limits, installation });
}

/** Services for every signed-in account. */
function servicesOf(options: ConsoleOptions): ServiceBinding[] {
  const { config, postgres, deps, chain, metrics, webhooks, log } = options;
  return [
    consoleKeyService(postgres, keyRulesOf(deps)),
    balanceService(postgres.accountQueries),
    historyService({
      ...postgres.accountQueries,
      ownRecords: new OwnRecords(postgres.accountQueries.ownRecords, deps.quotes),
    }),
    requestLogService(postgres.requestLog),
    webhooks,
    createDepositService({ config, postgres, chain, quotes: deps.quotes, metrics, log }),
  ];
}
