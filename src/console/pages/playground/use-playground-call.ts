import type { JsonObject } from "@bufbuild/protobuf";
import { useTransport } from "@connectrpc/connect-query";
import { useCallback } from "react";
import type { ConnectedWallet } from "../../wallet/connect.ts";
import { isStreamed, postChat } from "./chat-stream.ts";
import { newIdempotencyKey } from "../idempotency-key.ts";
import { post, type Exchange } from "./exchange.ts";
import { useCallHistory, forgetCall, storeCall } from "./call-history.ts";
import { quoteFromResponse, type PaymentQuote, isGasless, payOnChain, signGasless } from "./payment.ts";
import { asObject, asText } from "./schema.ts";
import { onSessionEnd } from "../../session-end.ts";
import { useSignedIn } from "../../session.tsx";
import type { ToolCall, CallRecord } from "./tool-call.ts";

const CALL_PATH = "/v1/mcp/tools/call";

/** Limits of the retries while a payment is pending. */
const MAX_ATTEMPTS = 40;
const MAX_RETRY_DELAY_MS = 3_000;

/** Aborts the running call: one at a time. It continues while other console pages are open. */
const running: { current?: AbortController } = {};
onSessionEnd(() => running.current?.abort());

function useSend() {
  const { sessionId } = useSignedIn().session;
  const { show, end } = useCallHistory();
  return useCallback(
    async (from: CallRecord, signal: AbortSignal) => {
      let now: CallRecord = {
        ...from,
        error: undefined,
        quote: undefined,
        progress: "Waiting for the response…",
        canStop: true,
      };
      show(now);
      storeCall(sessionId, now);
      try {
        const exchange = await sendUntilFinal(now, signal, (change) => show({ ...now, ...change }));
        const title = now.payment ? "Call with payment" : "Call";
        now = {
          ...now,
          steps: [...now.steps, { title, exchange }],
          lastExchange: exchange,
          progress: undefined,
          canStop: false,
        };
        if (isRejected(now)) forgetCall(sessionId);
        else storeCall(sessionId, now);
        end({ ...now, quote: quoteFromResponse(exchange.response) ?? reusableQuote(from, exchange) });
      } catch (error) {
        if (!signal.aborted) end({ ...now, error, progress: undefined, canStop: false });
      }
    },
    [end, sessionId, show],
  );
}

/** Makes calls one at a time and records them. */
export function usePlaygroundCall() {
  const transport = useTransport();
  const { record, history, show: setRecord, end } = useCallHistory();
  const send = useSend();

  const run = useCallback(
    (call: ToolCall, key: string, recoverable: boolean) => {
      running.current?.abort();
      running.current = new AbortController();
      const idempotencyKey = newIdempotencyKey("playground");
      const params = withRunId(call, idempotencyKey);
      const body = { tool: call.tool, params, idempotency_key: idempotencyKey };
      const record = { call, body, key, startedAt: new Date(), steps: [], recoverable };
      void send(record, running.current.signal);
    },
    [send],
  );

  /** Cancels the execution of code, ends a stream, or closes the connection of any other call. */
  const stop = useCallback(
    async (from: CallRecord) => {
      if (await cancelExecution(from)) return;
      running.current?.abort();
      if (from.partial !== undefined) {
        // The run exists: a repeat with its key returns what was generated, and the charge for it.
        running.current = new AbortController();
        const { partial: _partial, ...rest } = from;
        const stopped = { title: "Stopped", text: "What was generated until then is charged." };
        return send({ ...rest, steps: [...from.steps, stopped] }, running.current.signal);
      }
      const text = "The connection was closed. Activity shows whether the tool had started and was charged.";
      const steps = [...from.steps, { title: "Stopped", text }];
      end({ ...from, steps, progress: undefined, canStop: false });
    },
    [end, send],
  );

  const pay = useCallback(
    async (from: CallRecord, quote: PaymentQuote, wallet: ConnectedWallet) => {
      const signal = running.current?.signal ?? AbortSignal.abort();
      const gasless = isGasless(quote, wallet);
      setRecord({
        ...from,
        error: undefined,
        progress: `Confirm the payment in ${wallet.wallet.name}.`,
      });
      try {
        const payment = gasless
          ? await signGasless(quote, wallet, from.key)
          : await payOnChain(quote, wallet, transport);
        if (signal.aborted) return;
        const texts = paymentTexts(gasless, wallet.wallet.name, payment.proof);
        const step = { ...texts, ...(payment.exchange && { exchange: payment.exchange }) };
        await send({ ...from, payment, steps: [...from.steps, step] }, signal);
      } catch (error) {
        if (!signal.aborted) setRecord({ ...from, error, progress: undefined });
      }
    },
    [send, setRecord, transport],
  );

  /** Sends the same call with the same payment again; it cannot be charged twice. */
  const again = useCallback(
    (from: CallRecord) => {
      running.current?.abort();
      running.current = new AbortController();
      void send(from, running.current.signal);
    },
    [send],
  );
  return { record, history, run, pay, again, stop, show: setRecord };
}

/** Retries the call until the response is final. `report` receives a progress message per retry or chunk. */
async function sendUntilFinal(
  record: CallRecord,
  signal: AbortSignal,
  report: (change: Pick<CallRecord, "progress" | "partial">) => void,
): Promise<Exchange> {
  const { payment, key, body, call } = record;
  const headers = payment ? { "X-Payment": payment.xPayment } : {};
  const send = () =>
    isStreamed(call.tool)
      ? postChat(body, key, headers, signal, (partial) => report({ progress: "Receiving…", partial }))
      : post(CALL_PATH, key, body, headers, signal);
  let exchange = await send();
  for (let count = 1; count < MAX_ATTEMPTS && isPending(record, exchange); count++) {
    report({ progress: `${payment ? "Payment pending" : "Still running"}: retry ${count}…` });
    await pause(exchange, signal);
    exchange = await send();
  }
  return exchange;
}

/** Names an execution of code, so that it can be cancelled before its response. */
function withRunId({ tool, params }: ToolCall, name: string): JsonObject {
  return tool === "sandbox_execute" ? { run_id: name, ...params } : params;
}

/** Returns whether the execution was cancelled; the response to the call then reports it. */
async function cancelExecution({ call, body, key }: CallRecord): Promise<boolean> {
  const { run_id: name } = asObject(body["params"]);
  if (call.tool !== "sandbox_execute" || name === undefined) return false;
  const cancel = { tool: "sandbox_cancel", params: { run_id: name } };
  return post(CALL_PATH, key, cancel).then(
    ({ response }) => response.status === 200,
    () => false,
  );
}

function paymentTexts(gasless: boolean, wallet: string, proof: JsonObject) {
  return gasless
    ? {
        title: `Payment signed by ${wallet}`,
        text: "The gateway built the transaction and pays its fee. The call carries the signed transaction.",
      }
    : {
        title: `Payment sent by ${wallet}`,
        text: `Transaction ${asText(proof["tx"])}. The wallet paid the network fee.`,
      };
}

/** Whether the same request may get another response in a moment. */
function isPending({ payment }: CallRecord, { response: { status, headers } }: Exchange): boolean {
  return (
    (status === 409 || (payment !== undefined && [402, 503].includes(status))) && "retry-after" in headers
  );
}

/** Whether the call ended without a result or a payment: nothing needs to be restored. */
function isRejected({ lastExchange, payment }: CallRecord): boolean {
  return lastExchange?.response.status !== 200 && payment === undefined;
}

/** A rejected signature paid nothing, so its quote stays payable. A transfer has moved money. */
function reusableQuote({ payment, steps }: CallRecord, { response }: Exchange): PaymentQuote | undefined {
  if (response.status !== 402 || payment === undefined || "tx" in payment.proof) return undefined;
  const first = steps[0]?.exchange;
  return first && quoteFromResponse(first.response);
}

async function pause({ response }: Exchange, signal: AbortSignal): Promise<void> {
  const asked = Number(response.headers["retry-after"]) * 1_000;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(
      resolve,
      Math.min(Number.isFinite(asked) ? asked : MAX_RETRY_DELAY_MS, MAX_RETRY_DELAY_MS),
    );
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("aborted"));
    });
  });
}
