import { errorBindings, routes as generatedRoutes } from "#gen/toolgate/v1/index_http.ts";
import { createTranscoder } from "#httpjson/runtime/index.ts";
import type { CallToolDeps } from "../app/calls/call-tool.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { Readiness } from "../app/operations/readiness.ts";
import type { Relay } from "../app/payments/gasless/relay-port.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SolanaChain } from "../solana/index.ts";
import { systemRandom } from "../system.ts";
import { KeyAuthenticator } from "../transport/key-authenticator.ts";
import { connectHandler } from "../transport/connect/connect-handler.ts";
import { DocumentHandler } from "../transport/documents/document-handler.ts";
import { llmsText } from "../transport/documents/llms.ts";
import { openApiDocument } from "../transport/documents/openapi.ts";
import { GrpcServer } from "../transport/grpc/server.ts";
import { OriginPolicy } from "../transport/http/origin-policy.ts";
import { Cors } from "../transport/http/cors.ts";
import { Facade } from "../transport/http/facade.ts";
import { JsonRoutes } from "../transport/http/json-routes.ts";
import { Probes } from "../transport/http/probes.ts";
import { HttpServer } from "../transport/http/server.ts";
import { McpHandler } from "../transport/mcp/mcp-handler.ts";
import { Pipeline } from "../transport/pipeline.ts";
import { healthService } from "../transport/services/operations/health-service.ts";
import { paymentService } from "../transport/services/payments/payment-service.ts";
import { receiptService } from "../transport/services/calls/receipt-service.ts";
import { runService } from "../transport/services/calls/run-service.ts";
import type { ServiceBinding } from "../transport/services/service-impl.ts";
import { toolService } from "../transport/services/calls/tool-service.ts";
import { VERSION } from "../version.ts";
import type { DevConsole } from "./console-files.ts";
import { createConsole } from "./console.ts";
import { keyRulesOf } from "./key-rules.ts";
import { createOperations } from "./operations.ts";
import { operatorServices } from "./operator-services.ts";

/** Dependencies of the servers. */
export interface ServersOptions {
  readonly config: ServeConfig;
  readonly postgres: Postgres;
  readonly deps: CallToolDeps;
  /** Undefined when gasless is off. */
  readonly relay: Relay | undefined;
  readonly chain: SolanaChain;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Available after the servers listen. */
  readonly addresses: () => Addresses;
  /** Undefined in production. */
  readonly devConsole: DevConsole | undefined;
}

/** Addresses as callers see them. */
export interface Addresses {
  /** `{base_url}` of the specification. */
  readonly baseUrl: string;
  readonly consoleUrl: string;
  /** host:port */
  readonly grpcAddress: string;
}

/** The HTTP and gRPC servers. */
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
  log,
  addresses,
  devConsole,
}: ServersOptions): Servers {
  const baseUrl = () => addresses().baseUrl;
  const { tokenAccount } = chain.treasury;
  const open = publicServices({ config, postgres, deps, relay, chain }, baseUrl);
  const keyRules = keyRulesOf(deps);
  const operations = createOperations({
    config,
    postgres,
    chain,
    quotes: deps.quotes,
    feePayer: relay?.feePayer,
  });
  const internal = operatorServices({ postgres, keyRules, operations, tokenAccount, log });
  const access = new KeyAuthenticator(postgres.authenticator, postgres.rateLimiter, metrics);
  const pipeline = new Pipeline(access, [...open, ...internal], postgres.withoutOutageErrors(log));
  const origins = config.CORS_ORIGINS ?? [];
  const common = { pipeline, random: systemRandom, bodyLimit: config.BODY_LIMIT_BYTES };
  const routes = new JsonRoutes({
    ...common,
    transcoder: createTranscoder(generatedRoutes),
    errorBindings,
  });
  const mcp = new McpHandler({
    routes,
    pipeline,
    catalogue: deps.catalogue,
    originPolicy: new OriginPolicy({ host: config.HOST, publicUrl: config.PUBLIC_URL, origins }),
  });
  const subject = { catalogue: deps.catalogue, version: VERSION, baseUrl, gasless: relay !== undefined };
  const failed = (error: unknown, requestId: string) => routes.failed(pipeline.failure(error, requestId));
  const documents = new DocumentHandler({
    documents: [openApiDocument(baseUrl, VERSION), llmsText(subject)],
    random: systemRandom,
    failed,
  });
  const connect = connectHandler({ ...common, services: open.map(({ service }) => service) });
  const services = [...open, ...internal].map(({ service }) => service);
  const console = createConsole({
    config,
    postgres,
    deps,
    gasless: relay !== undefined,
    chain,
    metrics,
    log,
    addresses,
    operators: internal,
    failed,
    devConsole,
  });
  return {
    http: new HttpServer({
      documents,
      probes: new Probes(readiness),
      console: console.handler,
      cors: new Cors(origins),
      connect,
      mcp,
      facade: new Facade(routes),
      routes,
    }),
    idle: async () => void (await Promise.all([pipeline.idle(), console.idle()])),
    grpc: new GrpcServer({ ...common, services, health: postgres.health }),
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
  }: Pick<ServersOptions, "config" | "postgres" | "deps" | "relay" | "chain">,
  baseUrl: () => string,
): ServiceBinding[] {
  const { tokenAccount: payTo, mint: usdcMint } = chain.treasury;
  const payment = { payTo, usdcMint, memoPrefix: config.MEMO_PREFIX };
  return [
    toolService(deps, payment, { baseUrl, v1: config.X402_V1 === "on" }, VERSION),
    paymentService({ quotes: deps.quotes, relay }),
    receiptService(postgres.receipts),
    runService(postgres.runs),
    healthService(postgres.health, VERSION),
  ];
}
