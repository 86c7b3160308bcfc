import type { ServeConfig } from "../config/config.ts";
import type { SandboxEngine } from "../domain/tools/sandbox.ts";
import { createLogger } from "../log.ts";
import { isConsoleBuilt } from "./console-files.ts";
import { hasOAuth } from "./oauth.ts";
import { openEngine } from "./sandbox.ts";

/**
 * Returns the features that `serve` starts without: name, effect for callers, and the setting that enables
 * it.
 */
export async function disabledFeatures(config: ServeConfig): Promise<string[]> {
  const off: string[] = [];
  if (!isConsoleBuilt()) off.push("console: /console/ shows no pages; run npm run build:console");
  if (config.FEE_PAYER_KEYPAIR === undefined && config.FEE_PAYER_SIGNER === undefined) {
    off.push(
      "fee payer: wallets need SOL to pay, and x402 clients cannot pay; set FEE_PAYER_KEYPAIR, " +
        "or FEE_PAYER_SIGNER",
    );
  }
  if (!hasOAuth(config))
    off.push(
      "oauth: hosts need an API key to use /mcp; set PUBLIC_URL to an https:// address without a path, " +
        "or OAUTH",
    );
  const sandbox = await sandboxOff(config);
  if (sandbox !== undefined)
    off.push(`sandbox: sandbox_execute is listed as coming_soon and cannot be called; ${sandbox}`);
  if (config.upstreams.length === 0) {
    off.push(
      "inference: inference_chat is listed as coming_soon and cannot be called; set INFERENCE_BASE_URL",
    );
  }
  if (config.METRICS_PORT === undefined) off.push("metrics: nothing can be scraped; set METRICS_PORT");
  return off;
}

/** Returns how to enable the sandbox; undefined when it works. */
async function sandboxOff(config: ServeConfig): Promise<string | undefined> {
  if (config.SANDBOX_ISOLATION === "off") return "set SANDBOX_ISOLATION to required, auto or process";
  let engine: SandboxEngine | undefined;
  try {
    engine = await openEngine(config, createLogger("silent", { secrets: [] }));
    await engine.capabilities();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await engine?.close();
  }
}
