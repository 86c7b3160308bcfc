import { useState } from "react";
import { formatCount, formatUsd } from "../../format.ts";
import { Field, Input } from "../../ui/index.ts";

const MAX_CALLS = 1_000_000_000_000n;

/** What a number of calls costs at the price of one, micro-USD. */
export function CallsCost({ price, metered }: { price: bigint; metered: boolean }) {
  const [text, setText] = useState("1000");
  const digits = text.replaceAll(/[\s,]/g, "");
  const calls = /^\d{1,13}$/.test(digits) ? BigInt(digits) : undefined;
  const valid = calls !== undefined && calls <= MAX_CALLS;
  return (
    <div className="tool-cost">
      <Field label="Calls" error={valid ? undefined : "Enter a whole number"}>
        {(control) => (
          <Input
            {...control}
            inputMode="numeric"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
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
