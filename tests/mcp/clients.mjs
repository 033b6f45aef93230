// The two clients of the Model Context Protocol, the one of today and the one of before, against
// `wherefore mcp`: each lists and calls every tool, cancels a call, and gets the errors it should.
//
//   node clients.mjs BINARY SERVER ARGUMENTS(JSON: {tool: {argument: value}}) SLOW_SERVER
//
// Prints what each tool said as JSON: {era: {tool: structured answer}}.
import assert from "node:assert";
import { Client as NewClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as NewTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [, , binary, server, argumentsText, slowServer] = process.argv;
const callArguments = JSON.parse(argumentsText);
const who = { name: "test", version: "1" };
const eras = {
  new: { connect: () => connect(NewClient, NewTransport, server), slow: () => connect(NewClient, NewTransport, slowServer) },
  old: { connect: () => connect(OldClient, OldTransport, server), slow: () => connect(OldClient, OldTransport, slowServer) },
};

async function connect(Client, Transport, address) {
  const options = Client === NewClient ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
  const client = new Client(who, options);
  await client.connect(new Transport({ command: binary, args: ["--server", address, "mcp"], stderr: "inherit" }));
  return client;
}

async function everyTool(client) {
  const { tools } = await client.listTools();
  const said = {};
  for (const tool of tools) {
    assert.equal(tool.annotations.readOnlyHint, true, tool.name);
    assert.ok(tool.title && tool.description.length > 20, tool.name);
    assert.ok(callArguments[tool.name], `no arguments for ${tool.name}`);
    const answer = await client.callTool({ name: tool.name, arguments: callArguments[tool.name] });
    assert.ok(!answer.isError, `${tool.name}: ${JSON.stringify(answer.content)}`);
    assert.deepEqual(JSON.parse(answer.content[0].text), answer.structuredContent, tool.name);
    assert.ok(JSON.stringify(answer).length <= 20_000, tool.name);
    said[tool.name] = answer.structuredContent;
  }
  assert.deepEqual(Object.keys(said).sort(), Object.keys(callArguments).sort());
  return said;
}

async function errors(client) {
  const wrong = await client.callTool({ name: "top_functions", arguments: { query: "shop{" } });
  assert.equal(wrong.isError, true);
  assert.match(wrong.content[0].text, /HTTP 400/);
  const missing = await client.callTool({ name: "explain_trace", arguments: {} });
  assert.equal(missing.isError, true);
  assert.match(missing.content[0].text, /'trace' is missing/);
  await assert.rejects(client.callTool({ name: "drop_tables", arguments: {} }), (error) => error.code === -32602);
}

// A server that takes calls and never answers: the client gives up, and the connection goes on.
async function cancelled(client) {
  const stop = new AbortController();
  const call = client.callTool({ name: "top_functions", arguments: {} }, ...(client instanceof OldClient ? [undefined] : []), {
    signal: stop.signal,
  });
  setTimeout(() => stop.abort("changed my mind"), 300);
  await assert.rejects(call, /changed my mind|abort/i);
  const { tools } = await client.listTools();
  assert.ok(tools.length > 5);
}

const out = {};
for (const [era, { connect: open, slow }] of Object.entries(eras)) {
  const client = await open();
  out[era] = await everyTool(client);
  await errors(client);
  await client.close();
  const patient = await slow();
  await cancelled(patient);
  await patient.close();
}
console.log(JSON.stringify(out));
