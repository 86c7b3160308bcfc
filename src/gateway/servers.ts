import { routes as generatedRoutes } from "#gen/toolgate/v1/index_http.ts";
import { createTranscoder } from "#httpjson/runtime/index.ts";
import type { CallToolDeps } from "../app/calls/call-tool.ts";
import type { FacilitatingRelay, Relay } from "../app/payments/gasless/relay-port.ts";
import type { ServeConfig } from "../config/config.ts";
import { JwsSigner } from "../domain/payments/jws-signer.ts";
import { type SolanaChain, lazySignInForms } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import { didDocuments } from "../transport/documents/did-document.ts";
import { type ServedDocument, DocumentHandler } from "../transport/documents/document-handler.ts";
import { llmsText } from "../transport/documents/llms.ts";
import { openApiDocument } from "../transport/documents/openapi.ts";
import { x402Manifest, type WalletPayment } from "../transport/documents/x402-manifest.ts";
import { SoldTools } from "../transport/x402/sold-tools.ts";
import { VERSION } from "../version.ts";
import { WalletSignIn } from "../app/accounts/sign-in.ts";
import type { RequestRecorder } from "../app/operations/request-record.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { ConfigAdmin } from "../app/operations/config-versions.ts";
import { RequestTimelines } from "../app/operations/request-timeline.ts";
import type { Readiness } from "../app/operations/readiness.ts";
import { SealedNonces } from "../domain/accounts/sealed-nonce.ts";
import type { Cell } from "../domain/core/ids.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import { connectHandler } from "../transport/connect/connect-handler.ts";
import { GrpcServer } from "../transport/grpc/server.ts";
import { OriginPolicy } from "../transport/http/origin-policy.ts";
import { Cors } from "../transport/http/cors.ts";
import { JsonHandler } from "../transport/http/json-handler.ts";
import { failureResponse } from "../transport/http/failure-response.ts";
import { JsonRoutes } from "../transport/http/json-routes.ts";
import { Probes } from "../transport/http/probes.ts";
import { HttpServer } from "../transport/http/connections.ts";
import { McpHandler, PATH as MCP_PATH } from "../transport/mcp/mcp-handler.ts";
import { ANTHROPIC_API } from "../transport/anthropic/anthropic-api.ts";
import { ModelApiHandler } from "../transport/model-api/model-api-handler.ts";
import { OPENAI_API } from "../transport/openai/openai-api.ts";
import { Pipeline, type PipelineParts } from "../transport/pipeline.ts";
import { ClientAddresses } from "../transport/remote-address.ts";
import type { ServerTls } from "../transport/server-tls.ts";
import { RequestIds } from "../transport/request-ids.ts";
import { healthService } from "../transport/services/operations/health-service.ts";
import { facilitatorOf } from "./facilitator.ts";
import { facilitatorService } from "../transport/services/payments/facilitator-service.ts";
import { paymentService } from "../transport/services/payments/payment-service.ts";
import { receiptService, runService } from "../transport/services/calls/receipt-service.ts";
import type { ServiceBinding } from "../transport/endpoint.ts";
import { PaymentRequiredMessages } from "../transport/services/calls/payment-required-message.ts";
import { toolService } from "../transport/services/calls/tool-service.ts";
import { walletKeyService } from "../transport/services/accounts/wallet-key-service.ts";
import { walletService } from "../transport/services/calls/wallet-service.ts";
import { MessageSizes } from "../transport/message-size.ts";
import { UnpaidTime } from "../transport/unpaid-time.ts";
import { UnpaidAnswers } from "../transport/wallets/unpaid-answers.ts";
import { QuoteOffers } from "../transport/offers.ts";
import { PaymentChallenges } from "../transport/payment-auth/challenges.ts";
import { OfferReceipts } from "../transport/x402/offer-receipt.ts";
import { X402Offers } from "../transport/x402/offers.ts";
import { createAccess } from "./access.ts";
import { StoredConfigAdmin } from "./config-admin.ts";
import { localRpcUrl, type DevConsole } from "./console-files.ts";
import { createConsole } from "./console.ts";
import { createOAuth } from "./oauth.ts";
import { keyRulesOf, createOperations, operatorServices, createWebhookService } from "./services.ts";
import type { Addresses } from "./listen.ts";

interface DocumentsOptions {
  readonly config: ServeConfig;
  readonly deps: Pick<CallToolDeps, "catalogue">;
  readonly relay: Pick<Relay, "feePayer"> | undefined;
  readonly chain: Pick<SolanaChain, "treasury">;
  readonly signer: JwsSigner;
  readonly sold: SoldTools;
  /** Available after the servers listen. */
  readonly baseUrl: () => string;
}

function createDocuments({
  config,
  deps,
  relay,
  chain,
  signer,
  sold,
  baseUrl,
}: DocumentsOptions): ServedDocument[] {
  const { catalogue } = deps;
  const payment = relay && sellsToWallets(config, relay) ? walletPayment(config, relay, chain) : undefined;
  return [
    openApiDocument({ baseUrl, version: VERSION, asset: chain.treasury.mint, sold: payment && sold }),
    llmsText({ catalogue, version: VERSION, baseUrl, gasless: relay !== undefined, sold: payment && sold }),
    x402Manifest({ sold, payment, baseUrl, now: () => systemClock.now() }),
    ...didDocuments({ signer, cell: config.CELL, publicUrl: config.PUBLIC_URL, baseUrl }),
  ];
}

/** Whether calls are sold without an API key. */
function sellsToWallets(config: ServeConfig, relay: Pick<Relay, "feePayer"> | undefined): boolean {
  return relay !== undefined && config.X402_KEYLESS !== "off";
}

function walletPayment(
  config: ServeConfig,
  { feePayer }: Pick<Relay, "feePayer">,
  { treasury }: Pick<SolanaChain, "treasury">,
): WalletPayment {
  return {
    asset: treasury.mint,
    payTo: treasury.owner,
    feePayer,
    minimum: BigInt(config.GASLESS_MINIMUM_MICROUSD),
  };
}

interface ServersOptions {
  readonly config: ServeConfig;
  readonly postgres: Postgres;
  readonly deps: CallToolDeps;
  /** Undefined when gasless is off. */
  readonly relay: FacilitatingRelay | undefined;
  readonly chain: SolanaChain;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly requests: RequestRecorder;
  readonly log: Log;
  /** For unexpected errors of requests. */
  readonly errors: Log;
  /** Available after the servers listen. */
  readonly addresses: () => Addresses;
  /** Undefined in production. */
  readonly devConsole: DevConsole | undefined;
  readonly tls: ServerTls | undefined;
}

export interface Servers {
  readonly http: HttpServer;
  readonly grpc: GrpcServer;
  /** Resolves when no request is running. */
  idle(): Promise<void>;
}

/** Creates the services and the servers; they do not listen yet. */
export function createServers({
  config,
  postgres,
  deps,
  relay,
  chain,
  readiness,
  metrics,
  requests,
  log,
  errors,
  addresses,
  devConsole,
  tls,
}: ServersOptions): Servers {
  const baseUrl = () => addresses().baseUrl;
  const { tokenAccount } = chain.treasury;
  const walletParts = walletPartsOf({ config, postgres, deps, relay }, baseUrl);
  const webhooks = createWebhookService({ config, postgres, log });
  const shared = { config, postgres, deps, relay, chain, devConsole, metrics };
  const open = [...publicServices(shared, walletParts), webhooks];
  const { quotes, catalogue } = deps;
  const operations = createOperations({ config, postgres, chain, quotes, feePayer: relay?.feePayer });
  const timelines = new RequestTimelines(postgres.timelines, quotes);
  const configAdmin = configAdminOf(config, postgres);
  const parts = { postgres, operations, timelines, configAdmin, tokenAccount, log };
  const internal = operatorServices({ ...parts, keyRules: keyRulesOf(deps) });
  const clients = new ClientAddresses(config.TRUSTED_PROXY_HOPS, log);
  const pipelineParts = pipelinePartsOf({ postgres, deps, metrics, requests, errors }, clients);
  const { time } = pipelineParts;
  const entrance = { config, postgres, deps, metrics, log, clients, time, ...walletParts };
  const { access, trusted } = createAccess(entrance);
  const pipeline = new Pipeline(access, [...open, ...internal], pipelineParts);
  const origins = config.CORS_ORIGINS ?? [];
  const requestIds = requestIdsOf(config);
  const common = { pipeline, requestIds, bodyLimit: config.BODY_LIMIT_BYTES };
  const routes = new JsonRoutes({ ...common, transcoder: createTranscoder(generatedRoutes) });
  const originPolicy = new OriginPolicy({ host: config.HOST, publicUrl: config.PUBLIC_URL, origins });
  const failed = (error: unknown, requestId: string) => failureResponse(pipeline.failure(error, requestId));
  const services = [...open, ...internal].map(({ service }) => service);
  const console = createConsole({
    ...shared,
    gasless: relay !== undefined,
    log,
    pipelineParts,
    clients,
    addresses,
    webhooks,
    operators: internal,
    requestIds,
    failed,
  });
  const web = { ...pipelineParts, clients, requestIds, failed };
  const { authenticator } = console;
  const oauth = createOAuth({ config, postgres, deps, addresses, authenticator, trusted, ...web });
  const described = [...createDocuments({ config, deps, relay, chain, ...walletParts }), ...oauth.documents];
  const models = { routes, pipeline, catalogue, clock: systemClock };
  return {
    http: new HttpServer({
      tls,
      handlers: [
        new DocumentHandler({ documents: described, ...web }),
        new Probes(readiness, requests),
        // Has its own origin policy, so CORS does not apply.
        console.handler,
        ...oauth.handlers,
        new Cors(origins, { path: MCP_PATH, policy: originPolicy }, requests),
        connectHandler({ ...common, services: open.map(({ service }) => service) }),
        ...[OPENAI_API, ANTHROPIC_API].map((api) => new ModelApiHandler(models, api)),
        new McpHandler({ routes, pipeline, catalogue, originPolicy, ...oauth }),
        new JsonHandler(routes, pipeline, walletParts.sold),
      ],
      routes,
    }),
    idle: async () =>
      void (await Promise.all([pipeline, console, ...oauth.handlers].map((one) => one.idle()))),
    grpc: new GrpcServer({ ...common, services, health: postgres.health, log, tls }),
  };
}

type PipelineOptions = Pick<ServersOptions, "postgres" | "deps" | "metrics" | "requests" | "errors">;

/** Both pipelines, of API keys and of sessions, share the time of an account. */
function pipelinePartsOf(
  { postgres, deps: { catalogue }, metrics, requests, errors: log }: PipelineOptions,
  clients: ClientAddresses,
): PipelineParts {
  const time = new UnpaidTime({ clock: performance, metrics, clients });
  requests.observe(postgres.accountRequests);
  requests.observe(time);
  return { log, requests, time, sizes: new MessageSizes(() => catalogue.tools) };
}

function configAdminOf({ environment }: ServeConfig, { configVersions: versions }: Postgres): ConfigAdmin {
  return new StoredConfigAdmin({ versions, environment: () => environment });
}

function requestIdsOf({ TRUSTED_PROXY_HOPS }: ServeConfig): RequestIds {
  const trustsProxy = TRUSTED_PROXY_HOPS > 0;
  return new RequestIds({ clock: systemClock, random: systemRandom, trustsProxy });
}

/** Signs offers and receipts without an API key. */
function signatures({ signingKeys, clock }: Postgres, { CELL: cell }: ServeConfig, baseUrl: () => string) {
  const signer = new JwsSigner(signingKeys);
  return { signer, signed: new OfferReceipts({ signer, clock, baseUrl, cell }) };
}

function walletSignIn(postgres: Postgres, cell: Cell | undefined, baseUrl: () => string): WalletSignIn {
  return new WalletSignIn({
    nonces: new SealedNonces(postgres.sealingKeys, postgres.clock, systemRandom, cell),
    used: postgres.usedNonces,
    wallets: postgres.walletAccounts,
    forms: lazySignInForms,
    clock: postgres.clock,
    baseUrl,
  });
}

/** What wallets without an API key use. */
interface WalletParts {
  readonly baseUrl: () => string;
  readonly unpaid: UnpaidAnswers;
  readonly sold: SoldTools;
  /** Undefined: X402_KEYLESS is off. */
  readonly signIn: WalletSignIn | undefined;
  readonly signed: OfferReceipts;
}

function walletPartsOf(
  { config, postgres, deps, relay }: Pick<ServersOptions, "config" | "postgres" | "deps" | "relay">,
  baseUrl: () => string,
) {
  return {
    baseUrl,
    unpaid: new UnpaidAnswers(systemClock),
    sold: new SoldTools(deps.catalogue),
    signIn: sellsToWallets(config, relay) ? walletSignIn(postgres, deps.cell, baseUrl) : undefined,
    ...signatures(postgres, config, baseUrl),
  };
}

/** The services of the specification, for every API key. */
function publicServices(
  {
    config,
    postgres,
    deps,
    relay,
    chain,
    devConsole,
    metrics,
  }: Pick<ServersOptions, "config" | "postgres" | "deps" | "relay" | "chain" | "devConsole" | "metrics">,
  { baseUrl, signIn, ...wallets }: WalletParts,
): ServiceBinding[] {
  const { tokenAccount: payTo, mint: usdcMint } = chain.treasury;
  const rpcUrl = localRpcUrl(config, devConsole);
  const payment = { payTo, usdcMint, memoPrefix: config.MEMO_PREFIX, rpcUrl };
  const x402 = new X402Offers({
    payments: deps.payments,
    baseUrl,
    signed: wallets.signed,
    v1: config.X402_V1 === "on",
    rpcUrl,
  });
  const challenges = new PaymentChallenges({ payments: deps.payments, quotes: deps.quotes, baseUrl });
  const offers = new QuoteOffers(x402, challenges);
  const messages = new PaymentRequiredMessages(payment, deps.payments);
  return [
    toolService(deps, { offers, messages }, VERSION),
    walletService(signIn && { deps, offers, messages, ...wallets, signIn }),
    walletKeyService(signIn && { keys: postgres.apiKeys, rules: keyRulesOf(deps), signIn }),
    paymentService({ quotes: deps.quotes, relay }),
    facilitatorService(facilitatorOf({ config, relay, chain, metrics })),
    receiptService(postgres.accountQueries.receipts),
    runService(postgres.accountQueries.runs),
    healthService(postgres.health, VERSION),
  ];
}
