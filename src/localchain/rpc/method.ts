import type { ChainView } from "../chain-view.ts";
import type { Commitment } from "../commitment.ts";
import type { Json } from "../json.ts";
import type { Params } from "./params.ts";

/** One JSON-RPC method: reads the chain through a view, returns `result` or throws an `RpcError`. */
export type Method = (view: ChainView, params: Params) => Json;
export type MethodTable = Readonly<Record<string, Method>>;

/** Version of the imitated validator. */
export const VALIDATOR_VERSION = "3.0.0";

/** An `RpcResponse`: a value and the slot it was read at. */
export function withContext(view: ChainView, commitment: Commitment, value: Json): Json {
  return { context: { apiVersion: VALIDATOR_VERSION, slot: view.slotAt(commitment) }, value };
}
