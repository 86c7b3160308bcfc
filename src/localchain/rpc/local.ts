import { Controls } from "../controls.ts";
import type { Chain } from "../engine.ts";
import type { Faults, Fault, FaultRule } from "../faults.ts";
import type { Json } from "../json.ts";
import { type Params, type Options, invalidParams } from "./params.ts";

/** A control of the local chain; it is never struck by a fault and never counted. */
type LocalMethod = (params: Params) => Json;

/** `local_*`: what tests and the development command do to the chain from another process. */
export function localMethods(chain: Chain, faults: Faults): Readonly<Record<string, LocalMethod>> {
  const controls = new Controls(chain);
  return {
    /** [{lamports?, micro_usd?}]: returns {address, secret_key}, the key as a JSON array of bytes */
    local_createWallet: (params) => {
      const options = params.options(0);
      const lamports = options.count("lamports");
      const microUsd = options.count("micro_usd");
      const wallet = controls.createWallet({
        ...(lamports !== undefined && { lamports: BigInt(lamports) }),
        ...(microUsd !== undefined && { microUsd: BigInt(microUsd) }),
      });
      return { address: wallet.publicKey.toBase58(), secret_key: [...wallet.secretKey] };
    },

    /** [address, lamports] */
    local_airdrop: (params) =>
      controls.airdrop(params.address(0), BigInt(params.count(1))).transaction.signature,

    /** [owner, micro-USD]: returns the token account */
    local_mintUsdc: (params) => controls.mintUsdc(params.address(0), BigInt(params.count(1))).toBase58(),

    /** [slots]: returns the new slot */
    local_advanceSlots: (params) => {
      chain.advance(params.count(0));
      return chain.slots.current;
    },

    /** [seconds], negative for a clock that is behind */
    local_setTimeOffset: (params) => {
      chain.setTimeOffset(params.integer(0));
      return null;
    },

    /** [signature]: returns whether there was such a transaction */
    local_drop: (params) => chain.drop(params.signature(0)),

    /** [{method, fault, calls?}] */
    local_addFault: (params) => {
      faults.add(parseFaultRule(params.options(0)));
      return null;
    },

    /** [method] or [] */
    local_clearFaults: (params) => {
      faults.clear(params.raw(0) === undefined ? undefined : params.text(0));
      return null;
    },

    local_callCounts: () => faults.callCounts(),

    local_resetCallCounts: () => {
      faults.resetCallCounts();
      return null;
    },
  };
}

/** Reads the parameter of `local_addFault`. */
function parseFaultRule(options: Options): FaultRule {
  const fault = options.object("fault");
  if (fault === undefined) throw invalidParams("Invalid params: missing fault");
  const calls = options.count("calls");
  return {
    method: options.text("method") ?? "*",
    fault: parseFault(fault),
    ...(calls !== undefined && { calls }),
  };
}

function parseFault(options: Options): Fault {
  const kind = options.text("kind");
  const required = (name: string): number => {
    const value = options.integer(name);
    if (value === undefined) throw invalidParams(`Invalid params: fault.${name}: expected an integer.`);
    return value;
  };
  switch (kind) {
    case "delay":
      return { kind, ms: required("ms") };
    case "stale":
      return { kind, slots: required("slots") };
    case "http": {
      const retryAfterSeconds = options.count("retryAfterSeconds");
      return {
        kind,
        status: required("status"),
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      };
    }
    case "rpc_error": {
      const message = options.text("message");
      return { kind, code: required("code"), ...(message !== undefined && { message }) };
    }
    case "result":
      return { kind, result: options.json("result") };
    case "null":
    case "garbage":
    case "hang":
      return { kind };
    default:
      throw invalidParams(`Invalid params: unknown fault \`${String(kind)}\``);
  }
}
