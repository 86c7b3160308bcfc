import { useMutation } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useLocation } from "wouter";
import { DepositService } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { formatUsd, formatPlainUsd } from "../../format.ts";
import { useBlockedHint } from "../../session.tsx";
import { Button, Card, ErrorNote, Field, focusInvalidField, Input } from "../../ui/index.ts";
import { PRESETS, parseAmount } from "./amount.ts";

/** Form that creates a deposit. */
export function NewDeposit() {
  const [text, setText] = useState("10");
  const [problem, setProblem] = useState<string>();
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const blockedHint = useBlockedHint();
  const create = useMutation(DepositService.method.createDeposit, {
    onSuccess: ({ deposit }) => {
      void queries.invalidateQueries({ queryKey: ["list", "deposits"] });
      if (deposit) navigate(`/deposit/${deposit.depositId}`);
    },
  });
  const write = (amount: string) => {
    setText(amount);
    setProblem(undefined);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const amount = parseAmount(text);
    focusInvalidField(event.currentTarget);
    if ("problem" in amount) setProblem(amount.problem);
    else create.mutate({ amountUsdcMicrousd: amount.microUsd });
  };
  return (
    <Card title="Amount">
      <form className="deposit-form" onSubmit={submit} noValidate>
        <Field label="Amount in USDC" hint="Minimum $0.01. Up to six decimals." error={problem}>
          {(control) => (
            <Input
              {...control}
              unit="$"
              inputMode="decimal"
              value={text}
              onChange={({ currentTarget }) => write(currentTarget.value)}
            />
          )}
        </Field>
        <div className="deposit-presets" role="group" aria-label="Preset amounts">
          {PRESETS.map((preset) => (
            <Button
              key={preset.toString()}
              aria-pressed={text === plainAmount(preset)}
              onClick={() => write(plainAmount(preset))}
            >
              {formatUsd(preset).replace(/\.00$/, "")}
            </Button>
          ))}
        </div>
        <Button type="submit" tone="primary" busy={create.isPending} disabled={blockedHint !== undefined}>
          Continue
        </Button>
        {blockedHint !== undefined && <p className="hint">{blockedHint}</p>}
      </form>
      <ErrorNote error={create.error} />
    </Card>
  );
}

function plainAmount(microUsd: bigint): string {
  return formatPlainUsd(microUsd).replace(/\.00$/, "");
}
