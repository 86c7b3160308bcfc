import type { CallToolDeps } from "../app/calls/call-tool.ts";
import type { Relay } from "../app/payments/gasless/relay-port.ts";
import type { ServeConfig } from "../config/config.ts";
import type { JwsSigner } from "../domain/payments/jws-signer.ts";
import type { SolanaChain } from "../solana/index.ts";
import { systemClock } from "../system.ts";
import { didDocuments } from "../transport/documents/did-document.ts";
import type { ServedDocument } from "../transport/documents/document.ts";
import { llmsText } from "../transport/documents/llms.ts";
import { openApiDocument } from "../transport/documents/openapi.ts";
import { x402Manifest, type WalletPayment } from "../transport/documents/x402-manifest.ts";
import type { SoldTools } from "../transport/x402/sold-tools.ts";
import { VERSION } from "../version.ts";

export interface DocumentsOptions {
  readonly config: ServeConfig;
  readonly deps: Pick<CallToolDeps, "catalogue">;
  readonly relay: Pick<Relay, "feePayer"> | undefined;
  readonly chain: Pick<SolanaChain, "treasury">;
  readonly signer: JwsSigner;
  readonly sold: SoldTools;
  /** Available after the servers listen. */
  readonly baseUrl: () => string;
}

/** Returns the public documents. */
export function createDocuments({
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
    openApiDocument({ baseUrl, version: VERSION, sold: payment && sold }),
    llmsText({ catalogue, version: VERSION, baseUrl, gasless: relay !== undefined, sold: payment && sold }),
    x402Manifest({ sold, payment, baseUrl, now: () => systemClock.now() }),
    ...didDocuments({ signer, cell: config.CELL, publicUrl: config.PUBLIC_URL, baseUrl }),
  ];
}

/** Whether calls are sold without an API key. */
export function sellsToWallets(config: ServeConfig, relay: Pick<Relay, "feePayer"> | undefined): boolean {
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
