#!/usr/bin/env node
import { runNodeJs } from "@bufbuild/protoplugin";
import { openApiPlugin } from "./plugin.ts";

runNodeJs(openApiPlugin);
