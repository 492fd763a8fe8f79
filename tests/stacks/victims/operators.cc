/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * operators.cc - operator new, containers, templates, lambdas, virtual functions, namespaces.
 */
#include "stack.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shop
{

struct Shape {
	virtual ~Shape() = default;
	virtual void *draw(size_t size) = 0;
};

struct Circle : Shape {
	FRAME void *draw(size_t size) override;
};

FRAME void *Circle::draw(size_t size)
{
	void *p = new char[size];

	STAY();
	return p;
}

template <typename T, int N> struct Box {
	FRAME static void *fill(size_t size)
	{
		void *p = ::operator new(size);

		STAY();
		return p;
	}
};

FRAME void *operator_plus(size_t size)
{
	void *p = ::operator new(size, std::align_val_t(256));

	STAY();
	return p;
}

} // namespace shop

FRAME static void vector_grows(size_t size)
{
	std::vector<char> v;

	v.reserve(size);
	kept = v.data();
	STAY();
}

FRAME static void calls(const std::function<void(size_t)> &f, size_t size)
{
	f(size);
	STAY();
}

FRAME static void frees(char *p)
{
	delete[] p;
	STAY();
}

int main()
{
	std::unique_ptr<shop::Shape> shape(new shop::Circle);
	static std::unique_ptr<shop::Circle> other;

	kept = shape->draw(2001);
	frees(static_cast<char *>(kept));
	kept = shop::Box<std::string, 7>::fill(2002);
	kept = shop::operator_plus(2048);
	vector_grows(2004);
	calls(
	    [](size_t size) {
		    TAG(size);
		    STAY();
	    },
	    2005);
	say("chain 2001 operator_new+ @libstdc++~ shop::Circle::draw " MAIN);
	say("chain 2002 operator_new shop::Box<...>::fill " MAIN);
	say("chain 2048 @libc~ @libstdc++~ operator_new @libstdc++~ shop::operator_plus " MAIN);
	say("chain 2004 operator_new ... vector_grows " MAIN);
	say("chain 2005 ... calls " MAIN);
	return 0;
}
