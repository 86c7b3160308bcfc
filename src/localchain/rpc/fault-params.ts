import type { Fault, FaultRule } from "../faults.ts";
import { invalidParams } from "./errors.ts";
import type { Options } from "./params.ts";

/** Reads the parameter of `local_addFault`. */
export function parseFaultRule(options: Options): FaultRule {
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
