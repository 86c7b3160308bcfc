import { errorBindings as errorErrors } from "#gen/toolgate/v1/error_http.ts";
import { errorBindings as healthErrors, healthServiceRoutes } from "#gen/toolgate/v1/health_service_http.ts";
import { errorBindings as paymentErrors } from "#gen/toolgate/v1/payment_http.ts";
import { receiptServiceRoutes } from "#gen/toolgate/v1/receipt_service_http.ts";
import { runServiceRoutes } from "#gen/toolgate/v1/run_service_http.ts";
import { toolServiceRoutes } from "#gen/toolgate/v1/tool_service_http.ts";
import { createTranscoder } from "#httpjson/runtime/index.ts";
import type { CallToolDeps } from "../app/call-tool.ts";
import type { Metrics } from "../app/metrics.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Logger } from "../log.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SolanaChain } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import { Access } from "../transport/access.ts";
import { AddressLimit } from "../transport/address-limit.ts";
import { connectDoor } from "../transport/connect/connect-door.ts";
import { GrpcServer } from "../transport/grpc/server.ts";
import { Cors } from "../transport/http/cors.ts";
import { Facade } from "../transport/http/facade.ts";
import { HttpServer } from "../transport/http/server.ts";
import { JsonRpcDoor } from "../transport/mcp/json-rpc-door.ts";
import { Pipeline } from "../transport/pipeline.ts";
import { accountService } from "../transport/services/account-service.ts";
import { auditService } from "../transport/services/audit-service.ts";
import { healthService } from "../transport/services/health-service.ts";
import { keyService } from "../transport/services/key-service.ts";
import { receiptService } from "../transport/services/receipt-service.ts";
import { runService } from "../transport/services/run-service.ts";
import { toolService } from "../transport/services/tool-service.ts";
import { treasuryService } from "../transport/services/treasury-service.ts";
import { VERSION } from "../version.ts";

/** What the doors lead to. */
export interface DoorsOptions {
  readonly config: ServeConfig;
  readonly postgres: Postgres;
  readonly deps: CallToolDeps;
  readonly chain: SolanaChain;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** The doors, and what is behind all of them. */
export interface Doors {
  readonly pipeline: Pipeline;
  readonly http: HttpServer;
  readonly grpc: GrpcServer;
}

/** Makes the services and the doors to them, still closed. */
export function makeDoors({ config, postgres, deps, chain, metrics, log }: DoorsOptions): Doors {
  const { tokenAccount: payTo, owner: treasuryOwner, mint: usdcMint } = chain.treasury;
  const payment = { payTo, treasuryOwner, usdcMint, memoPrefix: config.MEMO_PREFIX, feePayer: undefined };
  const open = [
    toolService(deps, payment, VERSION),
    receiptService(postgres.receipts),
    runService(postgres.runs),
    healthService(postgres.health, VERSION),
  ];
  const { suspense, refunds, treasuryBooks: books } = postgres;
  const internal = [
    accountService(postgres.accounts),
    keyService(postgres.apiKeys),
    auditService(postgres.audit),
    treasuryService({ suspense, refunds, books, tokenAccount: payTo }),
  ];
  const addresses = new AddressLimit({ clock: systemClock, trustedProxies: config.TRUSTED_PROXY_HOPS });
  const access = new Access(postgres.authenticator, postgres.rateLimiter, addresses, metrics);
  const pipeline = new Pipeline(access, [...open, ...internal], log);
  const common = { pipeline, random: systemRandom, bodyLimit: config.BODY_LIMIT_BYTES };
  const facade = new Facade({
    ...common,
    transcoder: createTranscoder([toolServiceRoutes, receiptServiceRoutes, runServiceRoutes, healthServiceRoutes]),
    errorBindings: [...errorErrors, ...paymentErrors, ...healthErrors],
    jsonRpc: new JsonRpcDoor(pipeline, deps.catalogue),
  });
  const connect = connectDoor({ ...common, services: open.map(({ service }) => service) });
  const services = [...open, ...internal].map(({ service }) => service);
  return {
    pipeline,
    http: new HttpServer(facade, connect, new Cors(config.CORS_ORIGINS ?? [])),
    grpc: new GrpcServer({ ...common, services, health: postgres.health }),
  };
}
