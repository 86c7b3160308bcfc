import type { JsonObject } from "@bufbuild/protobuf";
import { useTransport } from "@connectrpc/connect-query";
import { useCallback } from "react";
import type { ConnectedWallet } from "../../wallet/connect.ts";
import { newIdempotencyKey, post, type Exchange } from "./exchange.ts";
import { useKeptPlays } from "./call-history.ts";
import { offerOf, type Offer } from "./payment-quote.ts";
import { textOf } from "./schema.ts";
import { forgetWithSession } from "../../session-end.ts";
import type { PlayCall } from "./tool-call.ts";
import { isGasless, payOnChain, signGasless, type PaymentMade } from "./payment.ts";

/** Where agents call. */
const CALL_PATH = "/v1/mcp/tools/call";

/** One thing that has happened. */
export interface PlayStep {
  readonly title: string;
  readonly exchange?: Exchange;
  readonly text?: string;
}

/** A call from its first request to its result. */
export interface Play {
  readonly call: PlayCall;
  readonly body: JsonObject;
  readonly key: string;
  readonly startedAt: Date;
  readonly steps: readonly PlayStep[];
  /** What is being done; undefined while it is the person's turn, or all is over. */
  readonly doing?: string | undefined;
  /** What is to be paid, until it is. */
  readonly offer?: Offer | undefined;
  /** What was paid with: whatever comes, it is not paid twice. */
  readonly payment?: PaymentMade | undefined;
  /** The last answer to the call itself. */
  readonly last?: Exchange | undefined;
  readonly error?: unknown;
}

/** How often a call is repeated with a payment that is on its way, and how long it is waited in between at most, ms. */
const REPEATS = 40;
const PAUSE = 3_000;

/** Ends what is under way: one call at a time. It goes on while another page of the console is looked at. */
const ending: { current?: AbortController } = {};
forgetWithSession(() => ending.current?.abort());

/** Makes calls, one after the other, and keeps those of this visit. */
export function usePlay() {
  const transport = useTransport();
  const { play, history, show: setPlay, end } = useKeptPlays();

  /** Sends the call, with the payment where there is one, until it is answered for good. */
  const send = useCallback(
    async (from: Play, signal: AbortSignal) => {
      let now: Play = { ...from, error: undefined, offer: undefined, doing: "Waiting for the answer …" };
      setPlay(now);
      try {
        const headers = now.payment ? { "X-Payment": now.payment.xPayment } : {};
        let exchange = await post(CALL_PATH, now.key, now.body, headers, signal);
        for (let count = 1; count < REPEATS && now.payment && isUnderWay(exchange); count++) {
          setPlay({ ...now, doing: `The payment is on its way: asked ${count} times …` });
          await pause(exchange, signal);
          exchange = await post(CALL_PATH, now.key, now.body, headers, signal);
        }
        const title = now.payment ? "The call again, with the payment" : "The call";
        now = { ...now, steps: [...now.steps, { title, exchange }], last: exchange, doing: undefined };
        end({ ...now, offer: offerOf(exchange.answer) ?? refusedOffer(from, exchange) });
      } catch (error) {
        if (!signal.aborted) end({ ...now, error, doing: undefined });
      }
    },
    [end, setPlay],
  );

  const run = useCallback(
    (call: PlayCall, key: string) => {
      ending.current?.abort();
      ending.current = new AbortController();
      const body = { tool: call.tool, params: call.params, idempotency_key: newIdempotencyKey() };
      void send({ call, body, key, startedAt: new Date(), steps: [] }, ending.current.signal);
    },
    [send],
  );

  const pay = useCallback(
    async (from: Play, offer: Offer, wallet: ConnectedWallet) => {
      const signal = ending.current?.signal ?? AbortSignal.abort();
      const gasless = isGasless(offer, wallet);
      setPlay({ ...from, error: undefined, doing: `Look at ${wallet.wallet.name}: it asks you to confirm.` });
      try {
        const payment = gasless
          ? await signGasless(offer, wallet, from.key)
          : await payOnChain(offer, wallet, transport);
        if (signal.aborted) return;
        const title = gasless
          ? `${wallet.wallet.name} signs the payment`
          : `${wallet.wallet.name} pays on the chain`;
        const text = gasless
          ? "The gateway built the transaction and pays its fee. Signed and unsent, it goes along with the call."
          : `Transaction ${textOf(payment.proof["tx"])}. The wallet pays the fee; the call names the transaction.`;
        const step = { title, text, ...(payment.exchange && { exchange: payment.exchange }) };
        await send({ ...from, payment, steps: [...from.steps, step] }, signal);
      } catch (error) {
        if (!signal.aborted) setPlay({ ...from, error, doing: undefined });
      }
    },
    [send, setPlay, transport],
  );

  /** The same call with the same payment once more: nothing is paid twice by it. */
  const again = useCallback(
    (from: Play) => {
      ending.current?.abort();
      ending.current = new AbortController();
      void send(from, ending.current.signal);
    },
    [send],
  );
  return { play, history, run, pay, again, show: setPlay };
}

/** Whether the same call with the same payment may be answered otherwise in a moment. */
function isUnderWay({ answer }: Exchange): boolean {
  return [402, 409, 503].includes(answer.status) && "retry-after" in answer.headers;
}

/** A signature that was refused has paid nothing, so that its quote can still be paid: not so a transfer, which has moved money. */
function refusedOffer({ payment, steps }: Play, { answer }: Exchange): Offer | undefined {
  if (answer.status !== 402 || payment === undefined || "tx" in payment.proof) return undefined;
  const first = steps[0]?.exchange;
  return first && offerOf(first.answer);
}

async function pause({ answer }: Exchange, signal: AbortSignal): Promise<void> {
  const asked = Number(answer.headers["retry-after"]) * 1_000;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, Math.min(Number.isFinite(asked) ? asked : PAUSE, PAUSE));
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("left"));
    });
  });
}
