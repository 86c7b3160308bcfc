import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import type { Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { useOptionalSignedIn } from "../../session.tsx";
import { Button, Card, ErrorNote, focusInvalidField } from "../../ui/index.ts";
import { KeyCard } from "../playground/key-card.tsx";
import { ParamsForm } from "../playground/params-form.tsx";
import { usePlaygroundKey } from "../playground/playground-key.ts";
import type { fieldsFromSchema, paramsFromTexts, ParamTexts } from "../playground/schema.ts";
import { CallsCost } from "./calls-cost.tsx";
import { priceLabel } from "./price-label.ts";
import { priceOf } from "./price-of.ts";

/** The call that the page is about, as typed. */
export interface TypedCall extends ReturnType<typeof paramsFromTexts> {
  readonly fields: ReturnType<typeof fieldsFromSchema>;
  readonly texts: ParamTexts;
  readonly setTexts: (texts: ParamTexts) => void;
}

/** The price of a tool, with a calculator. */
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

/** Prices the parameters with an API key, as an agent does. */
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
