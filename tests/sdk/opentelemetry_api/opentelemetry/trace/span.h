#pragma once

#include "opentelemetry/interface.h"
