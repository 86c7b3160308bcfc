#!/usr/bin/env node
import { runNodeJs } from "@bufbuild/protoplugin";
import { referencePlugin } from "./plugin.ts";

runNodeJs(referencePlugin);
