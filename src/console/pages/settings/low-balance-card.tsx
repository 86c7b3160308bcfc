import { createConnectQueryKey, useMutation, useQuery } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { BalanceService } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { formatUsd, MAX_USD, parseUsd, formatPlainUsd } from "../../format.ts";
import { queryClient } from "../../rpc.ts";
import { Button, Card, ErrorNote, Field, Input, Skeleton, showToast } from "../../ui/index.ts";

const BALANCE = createConnectQueryKey({ schema: BalanceService.method.getBalance, cardinality: "finite" });

/** Sets the balance below which the console warns. */
export function LowBalanceCard() {
  const { data, error, refetch } = useQuery(BalanceService.method.getBalance, {});
  return (
    <Card title="Low balance" note="warning threshold">
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={2} height={24} />}
      {data && (
        <ThresholdForm
          key={String(data.lowBalanceUsdcMicrousd)}
          now={data.lowBalanceUsdcMicrousd}
          balance={data.balanceUsdcMicrousd}
        />
      )}
    </Card>
  );
}

function ThresholdForm({ now, balance }: { now: bigint | undefined; balance: bigint }) {
  const before = now === undefined ? "" : formatPlainUsd(now);
  const [text, setText] = useState(before);
  const [fieldError, setFieldError] = useState<string>();
  const { mutate, error, isPending } = useMutation(BalanceService.method.setLowBalance, {
    onSuccess: async () => {
      showToast("Saved");
      await queryClient.invalidateQueries({ queryKey: BALANCE });
    },
  });
  const save = (event: FormEvent) => {
    event.preventDefault();
    const amount = parseUsd(text);
    if (text.trim() !== "" && amount === undefined)
      return setFieldError("Enter an amount, such as 25 or 12.50.");
    if (amount !== undefined && amount > MAX_USD) return setFieldError("Maximum $1,000,000,000.");
    mutate(amount === undefined ? {} : { lowBalanceUsdcMicrousd: amount });
  };
  return (
    <form className="stack" onSubmit={save} noValidate>
      <Field
        label="Warn below"
        error={fieldError}
        hint={`Leave empty for no warning. Current balance: ${formatUsd(balance)}.`}
      >
        {(control) => (
          <div className="row row-even">
            <Input
              {...control}
              unit="$"
              inputMode="decimal"
              placeholder="Never"
              value={text}
              onChange={({ target }) => {
                setText(target.value);
                setFieldError(undefined);
              }}
            />
            <Button type="submit" busy={isPending} disabled={text.trim() === before}>
              Save
            </Button>
          </div>
        )}
      </Field>
      <ErrorNote error={error} />
    </form>
  );
}
