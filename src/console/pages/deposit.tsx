import { useParams, useLocation } from "wouter";
import { Page, Button, Card, ErrorNote, focusInvalidField, TextField } from "../ui/index.ts";
import { DepositList } from "./deposit/deposit-list.tsx";
import { DepositDetails } from "./deposit/deposit-details.tsx";
import "./deposit/deposit.css";
import { useMutation } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { DepositService } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { createFormMemory, useFormMemory } from "../form-memory.ts";
import { formatUsd, formatPlainUsd } from "../format.ts";
import { useBlockedHint } from "../session.tsx";
import { PRESETS, parseAmount } from "./deposit/amount.ts";

/** Creates a deposit, or shows the one in the URL, so that a reload finds it again. */
export function DepositPage() {
  const { id } = useParams<{ id?: string }>();
  return (
    // A new key moves the focus to the heading after the form is submitted.
    <Page
      key={id ?? "new"}
      title="Deposit"
      lead="USDC on Solana. Credited when final, usually within 30 seconds."
    >
      {id === undefined ? (
        <>
          <NewDeposit />
          <DepositList current={id} />
        </>
      ) : (
        <DepositDetails id={id}>
          <DepositList current={id} />
        </DepositDetails>
      )}
    </Page>
  );
}

const memory = createFormMemory<string>();

function NewDeposit() {
  const [text, setText, forget] = useFormMemory(memory, "amount", () => "10");
  const [problem, setProblem] = useState<string>();
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const blockedHint = useBlockedHint();
  const create = useMutation(DepositService.method.createDeposit, {
    onSuccess: ({ deposit }) => {
      forget();
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
        <TextField
          label="Amount in USDC"
          hint="Minimum $0.01. Up to six decimals."
          error={problem}
          unit="$"
          inputMode="decimal"
          value={text}
          onChange={({ currentTarget }) => write(currentTarget.value)}
        />
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
