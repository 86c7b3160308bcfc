import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import type { Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { useOptionalSignedIn } from "../../session.tsx";
import { Button, Card, ErrorNote, focusInvalidField, TextField } from "../../ui/index.ts";
import { KeyCard } from "../playground/key-card.tsx";
import { ParamsForm } from "../playground/params-form.tsx";
import { usePlaygroundKey } from "../playground/playground-key.ts";
import {
  type fieldsFromSchema,
  type paramsFromTexts,
  type ParamTexts,
  asObject,
  asText,
} from "../playground/schema.ts";
import { priceLabel } from "./models.ts";
import { formatCount, formatUsd } from "../../format.ts";
import { post } from "../playground/exchange.ts";
import type { ToolCall } from "../playground/tool-call.ts";

export interface TypedCall extends ReturnType<typeof paramsFromTexts> {
  readonly fields: ReturnType<typeof fieldsFromSchema>;
  readonly texts: ParamTexts;
  readonly setTexts: (texts: ParamTexts) => void;
}

export function PriceCard({ tool, call }: { tool: Tool; call: TypedCall }) {
  const signedIn = useOptionalSignedIn();
  const { billable, price, metered } = tool;
  if (!billable) return <Card title="Price">Calls are free.</Card>;
  if (price) {
    return (
      <PriceBody tool={tool}>
        <CallsCost price={price.priceUsdcMicrousd} metered={metered} />
      </PriceBody>
    );
  }
  if (!signedIn) return <PriceBody tool={tool}>Sign in to calculate the price of a call.</PriceBody>;
  return <Calculator tool={tool} call={call} />;
}

function PriceBody({ tool, children }: { tool: Tool; children: ReactNode }) {
  return (
    <Card title="Price" note={priceLabel(tool)}>
      {tool.metered && <p>A call is charged what it used, at most its price.</p>}
      {children}
    </Card>
  );
}

function Calculator({ tool, call }: { tool: Tool; call: TypedCall }) {
  const { key } = usePlaygroundKey();
  const [submitted, setSubmitted] = useState(false);
  const asked = useMutation({ mutationFn: (secret: string) => priceOf(secret, { tool: tool.name, params }) });
  const { fields, texts, params, fieldErrors } = call;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setSubmitted(true);
    focusInvalidField(event.currentTarget);
    if (key && Object.keys(fieldErrors).length === 0) asked.mutate(key.secret);
  };
  return (
    <>
      {!key && <KeyCard />}
      <PriceBody tool={tool}>
        <form className="stack" onSubmit={submit} noValidate>
          <ParamsForm
            fields={fields}
            texts={texts}
            fieldErrors={submitted ? fieldErrors : {}}
            onChange={(next) => {
              // The price belongs to the parameters that were sent.
              asked.reset();
              call.setTexts(next);
            }}
          />
          <div className="row">
            <Button type="submit" tone="primary" busy={asked.isPending} disabled={!key}>
              Calculate price
            </Button>
            {!key && (
              <span className="hint">Create or select an API key first. The price itself is free.</span>
            )}
          </div>
        </form>
        <ErrorNote error={asked.error} />
        {asked.data && <CallsCost price={asked.data.microUsd} metered={asked.data.metered} />}
      </PriceBody>
    </>
  );
}

const MAX_CALLS = 1_000_000_000_000n;

/** What a number of calls costs at the price of one, micro-USD. */
function CallsCost({ price, metered }: { price: bigint; metered: boolean }) {
  const [text, setText] = useState("1000");
  const digits = text.replaceAll(/[\s,]/g, "");
  const calls = /^\d{1,13}$/.test(digits) ? BigInt(digits) : undefined;
  const valid = calls !== undefined && calls <= MAX_CALLS;
  return (
    <div className="tool-cost">
      <TextField
        label="Calls"
        error={valid ? undefined : "Enter a whole number"}
        inputMode="numeric"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <p role="status">
        {valid && (
          <>
            {formatCount(calls)} × {formatUsd(price)} = {metered ? "at most " : ""}
            <strong>{formatUsd(calls * price)}</strong>
          </>
        )}
      </p>
    </div>
  );
}

interface CallPrice {
  readonly microUsd: bigint;
  /** Whether it is the most that the call costs. */
  readonly metered: boolean;
}

/** Asks for the price of a call. Free. @throws Error with the gateway's message */
async function priceOf(secret: string, { tool, params }: ToolCall): Promise<CallPrice> {
  const { response } = await post("/v1/mcp/tools/price", secret, { tool, params });
  const answer = asObject(response.body);
  const price = answer["price_usdc_microusd"];
  if (response.status !== 200 || typeof price !== "number")
    throw new Error(asText(answer["message"]) || `The gateway answered ${response.status}.`);
  return { microUsd: BigInt(price), metered: answer["metered"] === true };
}
