// Takes the shop's requests. The tests' profiles name this file (tests/ui_data.py).
#include "cart.h"
#include "json.h"

void handle_pay(Request const& request) {
  Value body;
  json::parse(body, request.body);
  Db::query("SELECT cart", body["cart"]);
}

void handle_cart(Request const& request) {
  Cart cart = Cart::load(request.body);
  cart.price();
}
