import { useParams } from "wouter";
import { Page } from "../ui/index.ts";
import { DepositList } from "./deposit/deposit-list.tsx";
import { NewDeposit } from "./deposit/new-deposit.tsx";
import { DepositDetails } from "./deposit/deposit-details.tsx";
import "./deposit/deposit.css";

/** Putting USDC on the balance: a new deposit, or the one that the address names, so that it is found again after a reload. */
export function DepositPage() {
  const { id } = useParams<{ id?: string }>();
  return (
    // From the form to its deposit is a step to another page: a new heading gets the focus.
    <Page
      key={id ?? "new"}
      title="Deposit"
      lead="USDC on Solana, credited once it is final: usually within half a minute."
    >
      {id === undefined ? <NewDeposit /> : <DepositDetails id={id} />}
      <DepositList current={id} />
    </Page>
  );
}
